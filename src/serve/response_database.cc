#include "serve/response_database.h"

#include <mutex>
#include <utility>

#include "base/errors.h"
#include "serve/sqlite.h"

namespace pando::serve {
namespace {

// `used`: a count of additions, the last one that continued the response.
constexpr const char* kTable =
    "CREATE TABLE IF NOT EXISTS responses(id TEXT PRIMARY KEY, owner TEXT NOT NULL,"
    " used INTEGER NOT NULL, n_bytes INTEGER NOT NULL, previous TEXT NOT NULL,"
    " input TEXT NOT NULL, response TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS by_use ON responses(owner, used, n_bytes);";
constexpr DatabaseForm kForm = {
    .file = "responses.db", .tables = kTable, .version = 1, .what = "responses"};
constexpr const char* kFind =
    "SELECT previous, input, response FROM responses WHERE id = ?1 AND owner = ?2";
constexpr const char* kRemove = "DELETE FROM responses WHERE id = ?1 AND owner = ?2";
// An answer that another server began may have been stored here before its end was lost.
constexpr const char* kAdd =
    "INSERT INTO responses(id, owner, previous, input, response, n_bytes, used)"
    " SELECT ?1, ?2, ?3, ?4, ?5, ?6, COALESCE(MAX(used), 0) + 1 FROM responses WHERE owner = ?2"
    " ON CONFLICT(id) DO UPDATE SET previous = excluded.previous, input = excluded.input,"
    " response = excluded.response, n_bytes = excluded.n_bytes, used = excluded.used"
    " WHERE owner = excluded.owner";
// A continued response becomes as new as the one that continues it.
constexpr const char* kRenew =
    "WITH RECURSIVE chain(row, previous) AS ("
    " SELECT rowid, previous FROM responses WHERE id = ?1 AND owner = ?2"
    " UNION SELECT responses.rowid, responses.previous FROM responses"
    " JOIN chain ON responses.id = chain.previous AND responses.owner = ?2)"
    " UPDATE responses SET used = (SELECT MAX(used) FROM responses WHERE owner = ?2)"
    " WHERE rowid IN (SELECT row FROM chain)";
constexpr const char* kDropOldest =
    "DELETE FROM responses WHERE rowid IN (SELECT row FROM ("
    " SELECT rowid AS row, ROW_NUMBER() OVER newest AS n, SUM(n_bytes) OVER newest AS bytes"
    " FROM responses WHERE owner = ?1 WINDOW newest AS (ORDER BY used DESC, rowid DESC))"
    " WHERE n > ?2 OR bytes > ?3)";

Error no_response(const std::string& id) {
  return not_found("there is no response '{}'", one_line(id));
}

}  // namespace

ResponseDatabase::ResponseDatabase(std::vector<std::string> owners, const ResponseLimits& limits)
    : owners_(std::move(owners)), limits_(limits) {}

ResponseDatabase::~ResponseDatabase() { sqlite3_close(database_); }

Result<std::unique_ptr<ResponseDatabase>> ResponseDatabase::open(const std::string& directory,
                                                                 std::vector<std::string> owners,
                                                                 const ResponseLimits& limits) {
  std::unique_ptr<ResponseDatabase> opened(new ResponseDatabase(std::move(owners), limits));
  if (Status status = open_database(directory, kForm, opened->database_); !status)
    return status.error();
  return opened;
}

Status ResponseDatabase::failed(const char* done) const {
  return database_error(database_, kForm, done);
}

Result<ask::StoredResponse> ResponseDatabase::find(uint64_t isolation_key, const std::string& id) {
  const std::lock_guard lock(mutex_);
  const std::string owner = owners_.of(isolation_key);
  Statement statement(database_, kFind);
  statement.with(id).with(owner);
  if (statement.step())
    return ask::StoredResponse{.id = id,
                               .previous = statement.text(0),
                               .input = statement.text(1),
                               .response = statement.text(2)};
  if (!statement.is_done()) return failed("read").error();
  return no_response(id);
}

Status ResponseDatabase::add(uint64_t isolation_key, const ask::StoredResponse& response) {
  std::unique_lock lock(mutex_);
  Transaction transaction(database_);
  if (!transaction.begin(lock)) return failed("written");
  if (Status status = write(owners_.of(isolation_key), response); !status) return status;
  return transaction.commit() ? Status() : failed("written");
}

Status ResponseDatabase::write(const std::string& owner, const ask::StoredResponse& response) {
  const size_t n_bytes = response.input.size() + response.response.size();
  if (n_bytes > limits_.n_bytes)
    return make_error(ErrorCode::kTooLong,
                      "the response is not stored: it takes {} bytes, expected at most {}", n_bytes,
                      limits_.n_bytes);
  Statement add(database_, kAdd);
  add.with(response.id).with(owner).with(response.previous).with(response.input);
  add.with(response.response).with(n_bytes);
  Statement renew(database_, kRenew);
  renew.with(response.id).with(owner);
  Statement drop(database_, kDropOldest);
  drop.with(owner).with(limits_.n_responses).with(limits_.n_bytes);
  for (Statement* statement : {&add, &renew, &drop})
    if (statement->step() || !statement->is_done()) return failed("written");
  return {};
}

Status ResponseDatabase::remove(uint64_t isolation_key, const std::string& id) {
  std::unique_lock lock(mutex_);
  {
    Transaction transaction(database_);
    if (!transaction.begin(lock)) return failed("written");
    const std::string owner = owners_.of(isolation_key);
    Statement statement(database_, kRemove);
    statement.with(id).with(owner);
    if (statement.step() || !statement.is_done()) return failed("written");
    if (sqlite3_changes(database_) == 0) return no_response(id);
    if (!transaction.commit()) return failed("written");
  }
  // The log still has the text. Where another process reads, it keeps it until a later checkpoint.
  sqlite3_exec(database_, "PRAGMA wal_checkpoint(TRUNCATE)", nullptr, nullptr, nullptr);
  return {};
}

}  // namespace pando::serve
