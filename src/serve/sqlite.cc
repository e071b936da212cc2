#include "serve/sqlite.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/errors.h"

namespace pando::serve {
namespace {

constexpr const char* kDatabaseSettings =
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = FULL;"
    "PRAGMA secure_delete = ON;";

Error failed_at(const std::string& place) {
  return in_file(place, io_error("{}", std::strerror(errno)));
}

// The files that SQLite puts beside it get the same mode.
Status make_private_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return failed_at(path);
  const bool is_private = fchmod(file, 0600) == 0;
  const Status status = is_private ? Status() : Status(failed_at(path));
  ::close(file);
  return status;
}

Status run_sql(sqlite3* database, const DatabaseForm& form, const std::string& sql) {
  const int code = sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status() : database_error(database, form, "opened");
}

Status prepare_tables(sqlite3* database, const DatabaseForm& form) {
  sqlite3_busy_timeout(database, kDatabaseWaitMs);
  if (Status status = run_sql(database, form, kDatabaseSettings); !status) return status;
  int64_t version = 0;
  {
    Statement statement(database, "PRAGMA user_version");
    if (!statement.step()) return database_error(database, form, "opened");
    version = statement.integer(0);
  }
  if (version != 0 && version != form.version)
    return bad_file("the {} are stored in version {}, expected {}", form.what, version,
                    form.version);
  return run_sql(database, form,
                 fmt::format("{}PRAGMA user_version = {};", form.tables, form.version));
}

}  // namespace

Status make_private_directory(const std::string& directory) {
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return failed_at(directory);
  return {};
}

Status database_error(sqlite3* database, const DatabaseForm& form, const char* done) {
  if (sqlite3_errcode(database) == SQLITE_NOMEM) return no_memory();
  return io_error("the stored {} cannot be {}: {}", form.what, done, sqlite3_errmsg(database));
}

Status open_database(const std::string& directory, const DatabaseForm& form, sqlite3*& database) {
  const std::string path = directory.empty() ? ":memory:" : directory + "/" + form.file;
  if (!directory.empty()) {
    if (Status status = make_private_directory(directory); !status) return status;
    if (Status status = make_private_file(path); !status) return status;
  }
  const int code = sqlite3_open_v2(path.c_str(), &database,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  Status status =
      code == SQLITE_OK ? prepare_tables(database, form) : database_error(database, form, "opened");
  if (status) return status;
  const bool is_no_database = sqlite3_errcode(database) == SQLITE_NOTADB;
  return in_file(path,
                 is_no_database ? with_code(ErrorCode::kBadFile, status.error()) : status.error());
}

}  // namespace pando::serve
