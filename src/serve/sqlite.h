// SQLite databases: statements, transactions, and files that only their owner can read.
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "pando/values/result.h"

namespace pando::serve {

inline constexpr int kDatabaseWaitMs = 10'000;  // for another process that writes

// Tables of one database.
struct DatabaseForm {
  const char* file;    // name in the state directory
  const char* tables;  // SQL that makes them if they do not exist
  int version;         // of the tables
  const char* what;    // name of the rows in messages: "responses"
};

// Opens a database, and makes it if it does not exist. A write has reached the disk before it is
// acknowledged. Rows that are deleted are overwritten. directory: made if it does not exist; empty:
// in memory. Errors: kIo and kBadFile, with the file. The caller closes `database` in any case.
Status open_database(const std::string& directory, const DatabaseForm& form, sqlite3*& database);
// The error of the last call. `done`: "read" or "written".
Status database_error(sqlite3* database, const DatabaseForm& form, const char* done);
// Makes a directory that only its owner can read, if it does not exist. kIo, with its name.
Status make_private_directory(const std::string& directory);

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
  int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }

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
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kDatabaseWaitMs);
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
    sqlite3_busy_timeout(database_, kDatabaseWaitMs);
    return has_begun;
  }
  bool run(const char* sql) {
    return sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
  }

  sqlite3* const database_;
};

}  // namespace pando::serve
