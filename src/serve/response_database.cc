#include "serve/response_database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "base/errors.h"

namespace pando::serve {
namespace {

constexpr const char* kFile = "responses.db";
constexpr int kTableVersion = 1;  // of the table
constexpr int kWaitMs = 10'000;   // for another process that writes

// A write has reached the disk before it is acknowledged. What is deleted is overwritten.
constexpr const char* kSettings =
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = FULL;"
    "PRAGMA secure_delete = ON;";
// `used`: a count of additions, the last one that continued the response.
constexpr const char* kTable =
    "CREATE TABLE IF NOT EXISTS responses(id TEXT PRIMARY KEY, owner TEXT NOT NULL,"
    " used INTEGER NOT NULL, n_bytes INTEGER NOT NULL, previous TEXT NOT NULL,"
    " input TEXT NOT NULL, response TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS by_use ON responses(owner, used, n_bytes);";
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

// One run of a statement.
class Statement {
 public:
  Statement(sqlite3* database, const char* sql) {
    code_ = sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Fill in ?1, ?2, ...; a text must live until the last step.
  Statement& with(std::string_view text) {
    if (code_ == SQLITE_OK)
      code_ = sqlite3_bind_text64(statement_, ++n_values_, text.data(), text.size(), SQLITE_STATIC,
                                  SQLITE_UTF8);
    return *this;
  }
  Statement& with(size_t number) {
    if (code_ == SQLITE_OK)
      code_ = sqlite3_bind_int64(statement_, ++n_values_, static_cast<int64_t>(number));
    return *this;
  }
  // True: there is a row.
  bool step() {
    if (code_ == SQLITE_OK || code_ == SQLITE_ROW) code_ = sqlite3_step(statement_);
    return code_ == SQLITE_ROW;
  }
  // After the last step.
  bool is_done() const { return code_ == SQLITE_DONE; }
  std::string text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return bytes == nullptr
               ? std::string()
               : std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
  }
  int integer(int column) const { return sqlite3_column_int(statement_, column); }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int code_ = SQLITE_OK;
  int n_values_ = 0;
};

// Is undone where it ends without a commit.
class Transaction {
 public:
  explicit Transaction(sqlite3* database) : database_(database) {}
  ~Transaction() {
    if (sqlite3_get_autocommit(database_) == 0) run("ROLLBACK");
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // Waits while another process writes; meanwhile other threads of this one may read.
  bool begin(std::unique_lock<std::mutex>& lock) {
    constexpr std::chrono::milliseconds kAgain{5};
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kWaitMs);
    while (!try_begin()) {
      if (sqlite3_errcode(database_) != SQLITE_BUSY || std::chrono::steady_clock::now() > end)
        return false;
      lock.unlock();
      std::this_thread::sleep_for(kAgain);
      lock.lock();
    }
    return true;
  }
  bool commit() { return run("COMMIT"); }

 private:
  bool try_begin() {
    sqlite3_busy_timeout(database_, 0);
    const bool has_begun = run("BEGIN IMMEDIATE");
    sqlite3_busy_timeout(database_, kWaitMs);
    return has_begun;
  }
  bool run(const char* sql) {
    return sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
  }

  sqlite3* const database_;
};

Error no_response(const std::string& id) {
  return not_found("there is no response '{}'", one_line(id));
}

// Makes the file, for its owner alone; the files that SQLite puts beside it are as it is.
Status make_private_file(const std::string& directory, const std::string& path) {
  const auto failed = [](const std::string& place) {
    return in_file(place, io_error("{}", std::strerror(errno)));
  };
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return failed(directory);
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return failed(path);
  const bool is_private = fchmod(file, 0600) == 0;
  const Status status = is_private ? Status() : Status(failed(path));
  ::close(file);
  return status;
}

}  // namespace

ResponseDatabase::ResponseDatabase(std::vector<std::string> owners, const ResponseLimits& limits)
    : owners_(std::move(owners)), limits_(limits) {}

ResponseDatabase::~ResponseDatabase() { sqlite3_close(database_); }

Result<std::unique_ptr<ResponseDatabase>> ResponseDatabase::open(const std::string& directory,
                                                                 std::vector<std::string> owners,
                                                                 const ResponseLimits& limits) {
  std::unique_ptr<ResponseDatabase> opened(new ResponseDatabase(std::move(owners), limits));
  if (Status status = opened->open_file(directory); !status) return status.error();
  return opened;
}

Status ResponseDatabase::open_file(const std::string& directory) {
  const std::string path = directory.empty() ? ":memory:" : directory + "/" + kFile;
  if (!directory.empty())
    if (Status status = make_private_file(directory, path); !status) return status;
  const int code = sqlite3_open_v2(path.c_str(), &database_,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  Status status = code == SQLITE_OK ? prepare() : failed("opened");
  if (status) return status;
  const bool is_no_database = sqlite3_errcode(database_) == SQLITE_NOTADB;
  return in_file(path,
                 is_no_database ? with_code(ErrorCode::kBadFile, status.error()) : status.error());
}

Status ResponseDatabase::prepare() {
  sqlite3_busy_timeout(database_, kWaitMs);
  if (Status status = run(kSettings); !status) return status;
  int version = 0;
  {
    Statement statement(database_, "PRAGMA user_version");
    if (!statement.step()) return failed("opened");
    version = statement.integer(0);
  }
  if (version != 0 && version != kTableVersion)
    return bad_file("the responses are stored in version {}, expected {}", version, kTableVersion);
  return run(fmt::format("{}PRAGMA user_version = {};", kTable, kTableVersion).c_str());
}

Status ResponseDatabase::run(const char* sql) {
  const int code = sqlite3_exec(database_, sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status() : failed("opened");
}

Status ResponseDatabase::failed(const char* what) const {
  if (sqlite3_errcode(database_) == SQLITE_NOMEM) return no_memory();
  return io_error("the stored responses cannot be {}: {}", what, sqlite3_errmsg(database_));
}

std::string ResponseDatabase::owner_of(uint64_t isolation_key) const {
  if (isolation_key < owners_.size()) return owners_[isolation_key];
  return fmt::format("routed {:016x}", isolation_key);
}

Result<ask::StoredResponse> ResponseDatabase::find(uint64_t isolation_key, const std::string& id) {
  const std::lock_guard lock(mutex_);
  const std::string owner = owner_of(isolation_key);
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
  if (Status status = write(owner_of(isolation_key), response); !status) return status;
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
    const std::string owner = owner_of(isolation_key);
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
