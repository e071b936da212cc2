#include "serve/file_database.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "base/errors.h"
#include "serve/sqlite.h"

namespace pando::serve {
namespace {

constexpr const char* kFileTables =
    "CREATE TABLE IF NOT EXISTS files(number INTEGER PRIMARY KEY AUTOINCREMENT,"
    " id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, filename TEXT NOT NULL, purpose TEXT NOT NULL,"
    " n_bytes INTEGER NOT NULL, created INTEGER NOT NULL, expires INTEGER NOT NULL);"
    "CREATE TABLE IF NOT EXISTS batches(number INTEGER PRIMARY KEY AUTOINCREMENT,"
    " id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, is_over INTEGER NOT NULL,"
    " input TEXT NOT NULL, object TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS open_batches ON batches(is_over, input);"
    "CREATE INDEX IF NOT EXISTS batches_by_owner ON batches(owner);"
    "CREATE INDEX IF NOT EXISTS files_by_owner ON files(owner);";
constexpr DatabaseForm kFileForm = {
    .file = "files.db", .tables = kFileTables, .version = 1, .what = "files"};
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

constexpr const char* kAddFile =
    "INSERT INTO files(id, owner, filename, purpose, n_bytes, created, expires)"
    " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)";
constexpr const char* kCountFiles =
    "SELECT COUNT(*), COALESCE(SUM(n_bytes), 0) FROM files WHERE owner = ?1";
constexpr const char* kFindFile =
    "SELECT id, filename, purpose, n_bytes, created, expires FROM files"
    " WHERE owner = ?1 AND id = ?2 AND expires > ?3";
constexpr const char* kListFiles =
    "SELECT id, filename, purpose, n_bytes, created, expires FROM files"
    " WHERE owner = ?1 AND (?2 = '' OR purpose = ?2) AND expires > ?3 AND number {} ?4"
    " ORDER BY number {} LIMIT ?5";
constexpr const char* kIsRead = "SELECT 1 FROM batches WHERE is_over = 0 AND input = ?1";
constexpr const char* kRemoveFile =
    "DELETE FROM files WHERE owner = ?1 AND id = ?2 AND expires > ?3";
constexpr const char* kRemoveExpired =
    "DELETE FROM files WHERE expires <= ?1"
    " AND id NOT IN (SELECT input FROM batches WHERE is_over = 0)";
constexpr const char* kHasFile = "SELECT 1 FROM files WHERE id = ?1";
constexpr const char* kAddBatch =
    "INSERT INTO batches(id, owner, is_over, input, object) VALUES(?1, ?2, 0, ?3, ?4)";
// Only the newest ?2 that are over are kept.
constexpr const char* kDropBatches =
    "DELETE FROM batches WHERE owner = ?1 AND is_over = 1 AND number <= (SELECT number FROM batches"
    " WHERE owner = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)";
constexpr const char* kCountOpen = "SELECT COUNT(*) FROM batches WHERE is_over = 0 AND owner = ?1";
constexpr const char* kFindBatch = "SELECT object, owner FROM batches WHERE id = ?1";
constexpr const char* kListBatches =
    "SELECT object FROM batches WHERE owner = ?1 AND number {} ?2 ORDER BY number {} LIMIT ?3";
constexpr const char* kOpenBatches =
    "SELECT object, owner FROM batches WHERE is_over = 0 ORDER BY number";
constexpr const char* kChangeBatch = "UPDATE batches SET object = ?1, is_over = ?2 WHERE id = ?3";

size_t as_size(int64_t seconds) { return static_cast<size_t>(seconds); }

StoredFile file_of(const Statement& row) {
  StoredFile file{.id = row.text(0), .filename = row.text(1), .purpose = row.text(2)};
  file.n_bytes = static_cast<uint64_t>(row.integer(3));
  file.created = row.integer(4);
  if (const int64_t expires = row.integer(5); expires != kNever) file.expires = expires;
  return file;
}

Error no_file(const std::string& id) { return not_found("there is no file '{}'", one_line(id)); }
Error no_batch(const std::string& id) { return not_found("there is no batch '{}'", one_line(id)); }

Result<Json> object_of(const std::string& text) {
  Result<Json> parsed = parse_json(text, LargeNumbers::kKept);
  if (!parsed) return io_error("a batch is stored in a form that cannot be read");
  return parsed;
}

// SQL of a list in the order of the page.
std::string ordered(const char* sql, const ListPage& page) {
  return fmt::format(fmt::runtime(sql), page.is_ascending ? ">" : "<",
                     page.is_ascending ? "ASC" : "DESC");
}

template <class T>
Listed<T> cut_to(std::vector<T> found, const ListPage& page) {
  const bool has_more = found.size() > page.limit;
  if (has_more) found.resize(page.limit);
  return {std::move(found), has_more};
}

}  // namespace

bool is_batch_over(const Json& batch) {
  for (const char* status : {"completed", "failed", "expired", "cancelled"})
    if (is_text(batch["status"], status)) return true;
  return false;
}

Result<std::unique_ptr<FileDatabase>> FileDatabase::open(const std::string& directory,
                                                         std::vector<std::string> owners) {
  std::unique_ptr<FileDatabase> opened(new FileDatabase(std::move(owners)));
  if (Status status = open_database(directory, kFileForm, opened->database_); !status)
    return status.error();
  return opened;
}

FileDatabase::~FileDatabase() { sqlite3_close(database_); }

Status FileDatabase::failed(const char* done) const {
  return database_error(database_, kFileForm, done);
}

Status FileDatabase::insert_file(const std::string& owner, const StoredFile& file) {
  Statement add(database_, kAddFile);
  add.with(file.id).with(owner).with(file.filename).with(file.purpose).with(file.n_bytes);
  add.with(as_size(file.created)).with(as_size(file.expires.value_or(kNever)));
  return add.step() || !add.is_done() ? failed("written") : Status();
}

Status FileDatabase::add_file(uint64_t key, const StoredFile& file, const FileLimits& limits) {
  const std::string owner = owners_.of(key);
  std::unique_lock lock(mutex_);
  Transaction transaction(database_);
  if (!transaction.begin(lock)) return failed("written");
  {
    Statement count(database_, kCountFiles);
    count.with(owner);
    if (!count.step()) return failed("read");
    const auto n_files = as_size(count.integer(0)), n_bytes = as_size(count.integer(1));
    if (n_files >= limits.n_files)
      return invalid_argument("there are {} files, expected fewer than {} before another", n_files,
                              limits.n_files);
    if (n_bytes + file.n_bytes > limits.n_bytes)
      return invalid_argument("the file has {} bytes beside {} of other files, expected at most {}",
                              file.n_bytes, n_bytes, limits.n_bytes);
  }
  if (Status status = insert_file(owner, file); !status) return status;
  return transaction.commit() ? Status() : failed("written");
}

Result<StoredFile> FileDatabase::find_file(uint64_t key, const std::string& id, int64_t now) {
  const std::string owner = owners_.of(key);
  const std::lock_guard lock(mutex_);
  Statement find(database_, kFindFile);
  find.with(owner).with(id).with(as_size(now));
  if (find.step()) return file_of(find);
  if (!find.is_done()) return failed("read").error();
  return no_file(id);
}

Result<int64_t> FileDatabase::row_of(const char* table, const std::string& owner,
                                     const ListPage& page) {
  if (page.after.empty()) return page.is_ascending ? 0 : kNever;
  const std::string sql = fmt::format("SELECT number FROM {} WHERE owner = ?1 AND id = ?2", table);
  Statement find(database_, sql.c_str());
  find.with(owner).with(page.after);
  if (find.step()) return find.integer(0);
  if (!find.is_done()) return failed("read").error();
  return blame("after", not_found("there is no object '{}' in the list", one_line(page.after)));
}

Result<Listed<StoredFile>> FileDatabase::list_files(uint64_t key, const std::string& purpose,
                                                    const ListPage& page, int64_t now) {
  const std::string owner = owners_.of(key);
  const std::lock_guard lock(mutex_);
  const Result<int64_t> row = row_of("files", owner, page);
  if (!row) return row.error();
  const std::string sql = ordered(kListFiles, page);
  Statement list(database_, sql.c_str());
  list.with(owner).with(purpose).with(as_size(now)).with(as_size(*row));
  list.with(page.limit + 1);
  std::vector<StoredFile> found;
  while (list.step()) found.push_back(file_of(list));
  if (!list.is_done()) return failed("read").error();
  return cut_to(std::move(found), page);
}

Status FileDatabase::remove_file(uint64_t key, const std::string& id, int64_t now) {
  const std::string owner = owners_.of(key);
  std::unique_lock lock(mutex_);
  Transaction transaction(database_);
  if (!transaction.begin(lock)) return failed("written");
  {
    Statement remove(database_, kRemoveFile);
    remove.with(owner).with(id).with(as_size(now));
    if (remove.step() || !remove.is_done()) return failed("written");
    if (sqlite3_changes(database_) == 0) return no_file(id);
    Statement is_read(database_, kIsRead);
    if (is_read.with(id).step())
      return invalid_argument("the file '{}' is read by a batch that is not over", id);
  }
  return transaction.commit() ? Status() : failed("written");
}

Status FileDatabase::remove_expired(int64_t now) {
  const std::lock_guard lock(mutex_);
  Statement remove(database_, kRemoveExpired);
  remove.with(as_size(now));
  return remove.step() || !remove.is_done() ? failed("written") : Status();
}

Result<bool> FileDatabase::has_file(const std::string& id) {
  const std::lock_guard lock(mutex_);
  Statement find(database_, kHasFile);
  if (find.with(id).step()) return true;
  if (!find.is_done()) return failed("read").error();
  return false;
}

Status FileDatabase::add_batch(uint64_t key, const Json& object, const BatchLimits& limits) {
  const std::string owner = owners_.of(key);
  std::unique_lock lock(mutex_);
  Transaction transaction(database_);
  if (!transaction.begin(lock)) return failed("written");
  {
    Statement count(database_, kCountOpen);
    if (!count.with(owner).step()) return failed("read");
    if (as_size(count.integer(0)) >= limits.n_open)
      return invalid_argument("{} batches are not over, expected fewer than {} before another",
                              count.integer(0), limits.n_open);
    const std::string id = object["id"], input = object["input_file_id"], text = json_text(object);
    Statement add(database_, kAddBatch);
    add.with(id).with(owner).with(input).with(text);
    Statement drop(database_, kDropBatches);
    drop.with(owner).with(limits.n_kept);
    for (Statement* statement : {&add, &drop})
      if (statement->step() || !statement->is_done()) return failed("written");
  }
  return transaction.commit() ? Status() : failed("written");
}

Result<StoredBatch> FileDatabase::find_batch(uint64_t key, const std::string& id) {
  const std::lock_guard lock(mutex_);
  Statement find(database_, kFindBatch);
  if (!find.with(id).step()) return find.is_done() ? no_batch(id) : failed("read").error();
  if (find.text(1) != owners_.of(key)) return no_batch(id);
  Result<Json> object = object_of(find.text(0));
  if (!object) return object.error();
  return StoredBatch{.id = id, .key = key, .object = std::move(*object)};
}

Result<Listed<Json>> FileDatabase::list_batches(uint64_t key, const ListPage& page) {
  const std::string owner = owners_.of(key);
  const std::lock_guard lock(mutex_);
  const Result<int64_t> row = row_of("batches", owner, page);
  if (!row) return row.error();
  const std::string sql = ordered(kListBatches, page);
  Statement list(database_, sql.c_str());
  list.with(owner).with(as_size(*row)).with(page.limit + 1);
  std::vector<Json> found;
  while (list.step()) {
    Result<Json> object = object_of(list.text(0));
    if (!object) return object.error();
    found.push_back(std::move(*object));
  }
  if (!list.is_done()) return failed("read").error();
  return cut_to(std::move(found), page);
}

Result<std::vector<StoredBatch>> FileDatabase::open_batches() {
  const std::lock_guard lock(mutex_);
  Statement list(database_, kOpenBatches);
  std::vector<StoredBatch> found;
  while (list.step()) {
    Result<Json> object = object_of(list.text(0));
    if (!object) return object.error();
    StoredBatch batch{.id = (*object)["id"], .key = owners_.key_of(list.text(1))};
    batch.object = std::move(*object);
    found.push_back(std::move(batch));
  }
  if (!list.is_done()) return failed("read").error();
  return found;
}

Result<Json> FileDatabase::change_batch(const std::string& id, const Change& change,
                                        const std::vector<StoredFile>& files) {
  return this->change(id, nullptr, change, files);
}

Result<Json> FileDatabase::change_batch_of(uint64_t key, const std::string& id,
                                           const Change& change) {
  const std::string owner = owners_.of(key);
  return this->change(id, &owner, change, {});
}

Result<Json> FileDatabase::change(const std::string& id, const std::string* owner,
                                  const Change& change, const std::vector<StoredFile>& files) {
  std::unique_lock lock(mutex_);
  Transaction transaction(database_);
  if (!transaction.begin(lock)) return failed("written").error();
  std::string its_owner, text;
  {
    Statement find(database_, kFindBatch);
    if (!find.with(id).step()) return find.is_done() ? no_batch(id) : failed("read").error();
    text = find.text(0);
    its_owner = find.text(1);
  }
  if (owner != nullptr && *owner != its_owner) return no_batch(id);
  Result<Json> object = object_of(text);
  if (!object) return object;
  if (Status status = change(*object); !status) return status.error();
  for (const StoredFile& file : files)
    if (Status status = insert_file(its_owner, file); !status) return status.error();
  text = json_text(*object);
  {
    Statement update(database_, kChangeBatch);
    update.with(text).with(is_batch_over(*object) ? size_t{1} : size_t{0}).with(id);
    if (update.step() || !update.is_done()) return failed("written").error();
  }
  if (!transaction.commit()) return failed("written").error();
  return object;
}

}  // namespace pando::serve
