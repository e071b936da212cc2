// Stored responses over HTTP: by whom, how long, and through failures.
#include "serve/response_database.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>

#include "model/test_files.h"

namespace pando::serve {
namespace {

namespace fs = std::filesystem;

class ResponseDatabaseTest : public ::testing::Test {
 protected:
  std::string directory() const { return (folder_.path() / "state").string(); }
  std::string file() const { return directory() + "/responses.db"; }

  std::unique_ptr<ResponseDatabase> open(const std::string& directory,
                                         const ResponseLimits& limits = {}) {
    auto opened = ResponseDatabase::open(directory, {"", "one", "two"}, limits);
    EXPECT_TRUE(opened.ok()) << opened.error().message();
    return std::move(*opened);
  }

  static Status add(ResponseDatabase& database, const std::string& id,
                    const std::string& previous = "", size_t n_bytes = 10) {
    return database.add(
        1,
        {.id = id, .previous = previous, .input = "[]", .response = std::string(n_bytes - 2, 'x')});
  }
  // "abd" of the ids "a" to "e": those that are there.
  static std::string kept(ResponseDatabase& database, uint64_t key = 1) {
    std::string ids;
    for (const char* id : {"a", "b", "c", "d", "e"})
      if (database.find(key, id).ok()) ids += id;
    return ids;
  }

  const TemporaryFolder folder_;
};

TEST_F(ResponseDatabaseTest, KeepsWhatWasAdded) {
  for (const std::string& where : {std::string(), directory()}) {
    const auto database = open(where);
    const std::string text("{\"a\": \"\0\xc3\xa4\"}", 12);
    ASSERT_TRUE(database->add(1, {"resp_a", "resp_0", "[1]", text}).ok());
    const auto found = database->find(1, "resp_a");
    ASSERT_TRUE(found.ok()) << found.error().message();
    EXPECT_EQ(found->previous, "resp_0");
    EXPECT_EQ(found->input, "[1]");
    EXPECT_EQ(found->response, text);
    ASSERT_TRUE(database->add(1, {"resp_a", "", "[]", "{}"}).ok()) << "made again";
    EXPECT_EQ(database->find(1, "resp_a")->response, "{}");
    EXPECT_EQ(database->find(1, "resp_b").error().message(), "there is no response 'resp_b'");
  }
}

TEST_F(ResponseDatabaseTest, KeysDoNotSeeEachOther) {
  const auto database = open("");
  ASSERT_TRUE(add(*database, "a").ok());
  EXPECT_EQ(kept(*database, 2), "");
  EXPECT_EQ(kept(*database, 0), "");
  EXPECT_EQ(database->remove(2, "a").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(kept(*database), "a");
  EXPECT_TRUE(database->remove(1, "a").ok());
  EXPECT_EQ(kept(*database), "");
}

// The least recently continued goes first.
TEST_F(ResponseDatabaseTest, IsBoundedInNumber) {
  const auto database = open("", {.n_responses = 3});
  for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(add(*database, id).ok());
  ASSERT_TRUE(add(*database, "d", "a").ok());
  EXPECT_EQ(kept(*database), "acd");
  ASSERT_TRUE(add(*database, "e", "d").ok());
  EXPECT_EQ(kept(*database), "ade");
  ASSERT_TRUE(database->add(2, {"x", "", "[]", "{}"}).ok());
  EXPECT_EQ(kept(*database), "ade") << "another key has a limit of its own";
}

TEST_F(ResponseDatabaseTest, IsBoundedInBytes) {
  const auto database = open("", {.n_bytes = 100});
  for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(add(*database, id, "", 40).ok());
  EXPECT_EQ(kept(*database), "bc");
  const Status status = add(*database, "d", "", 101);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message(),
            "the response is not stored: it takes 101 bytes, expected at most 100");
  EXPECT_EQ(status.error().code, ErrorCode::kTooLong);
  EXPECT_EQ(kept(*database), "bc");
}

TEST_F(ResponseDatabaseTest, OutlivesTheServerInAPrivateFile) {
  ASSERT_TRUE(add(*open(directory()), "a").ok());
  EXPECT_EQ(kept(*open(directory())), "a");
  const auto mode = [](const std::string& path) {
    struct stat found {};
    EXPECT_EQ(stat(path.c_str(), &found), 0) << path;
    return found.st_mode & 0777;
  };
  EXPECT_EQ(mode(directory()), 0700u);
  EXPECT_EQ(mode(file()), 0600u);
  const auto database = open(directory());
  ASSERT_TRUE(add(*database, "b").ok());
  EXPECT_EQ(mode(file() + "-wal"), 0600u);
}

TEST_F(ResponseDatabaseTest, WhatIsDeletedIsInNoFile) {
  const std::string secret = "a text that nobody else has";
  const auto is_in_a_file = [&] {
    for (const auto& entry : fs::directory_iterator(directory())) {
      std::ifstream in(entry.path(), std::ios::binary);
      const std::string bytes(std::istreambuf_iterator<char>(in), {});
      if (bytes.find(secret) != std::string::npos) return true;
    }
    return false;
  };
  const auto database = open(directory());
  ASSERT_TRUE(database->add(1, {"a", "", "[]", secret}).ok());
  EXPECT_TRUE(is_in_a_file());
  ASSERT_TRUE(database->remove(1, "a").ok());
  EXPECT_FALSE(is_in_a_file());
}

TEST_F(ResponseDatabaseTest, IsReadWhileAnotherServerWrites) {
  const auto database = open(directory());
  ASSERT_TRUE(add(*database, "a").ok());
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(file().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  std::thread writer([&] { EXPECT_TRUE(add(*database, "b").ok()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(kept(*database), "a");
  EXPECT_EQ(sqlite3_exec(other, "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
  writer.join();
  EXPECT_EQ(kept(*database), "ab");
  sqlite3_close(other);
}

// An API key is told by what it is, not by its line.
TEST_F(ResponseDatabaseTest, KeysMayChangeTheirOrder) {
  ASSERT_TRUE(add(*open(directory()), "a").ok());
  const auto reordered = ResponseDatabase::open(directory(), {"", "two", "one"}, {});
  ASSERT_TRUE(reordered.ok());
  EXPECT_EQ(kept(**reordered, 1), "");
  EXPECT_EQ(kept(**reordered, 2), "a");
}

TEST_F(ResponseDatabaseTest, AFileThatIsNoDatabaseIsRefused) {
  fs::create_directory(directory());
  const std::string text =
      "This is a text, and longer than the first hundred bytes of a database "
      "that SQLite looks at before anything else.";
  std::ofstream(file()) << text;
  const auto opened = ResponseDatabase::open(directory(), {""}, {});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kBadFile);
  EXPECT_EQ(opened.error().message(),
            file() + ": the stored responses cannot be opened: file is not a database");
  std::string left;
  std::getline(std::ifstream(file()), left);
  EXPECT_EQ(left, text);
}

TEST_F(ResponseDatabaseTest, ADirectoryThatCannotBeMadeIsAnError) {
  const auto opened = ResponseDatabase::open(directory() + "/a/b", {""}, {});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().message(), directory() + "/a/b: No such file or directory");
}

// A file that may not grow stands for a full disk.
TEST_F(ResponseDatabaseTest, AFullDiskLosesNothingThatWasStored) {
  const auto database = open(directory());
  ASSERT_TRUE(add(*database, "a").ok());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = size_t{128} << 10, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = add(*database, "b", "", size_t{1} << 20);
  EXPECT_EQ(kept(*database), "a");
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kIo);
  EXPECT_TRUE(status.error().message().starts_with("the stored responses cannot be written: "))
      << status.error().message();
  EXPECT_TRUE(add(*database, "c").ok());
  EXPECT_EQ(kept(*open(directory())), "ac");
}

}  // namespace
}  // namespace pando::serve
