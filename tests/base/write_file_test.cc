// The error of a failed write gives the system's reason.
#include "base/write_file.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>

#include "model/test_files.h"

namespace pando::testing {
namespace {

TEST(WriteFile, WritesAndReplaces) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "file";
  ASSERT_TRUE(write_file(path, "a longer text\n").ok());
  ASSERT_TRUE(write_file(path, "text\n").ok());
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "text\n");
}

TEST(WriteFile, NamesTheReason) {
  // Less than the stream's buffer, and more.
  for (const size_t n_bytes : {size_t{1}, size_t{1} << 20}) {
    const Status full = write_file("/dev/full", std::string(n_bytes, 'x'));
    ASSERT_FALSE(full.ok());
    EXPECT_EQ(full.error().code, ErrorCode::kIo);
    EXPECT_EQ(full.error().message(), "cannot write '/dev/full': No space left on device");
  }
  const TemporaryFolder folder;
  const std::filesystem::path nowhere = folder.path() / "no" / "file";
  EXPECT_EQ(write_file(nowhere, "x").error().message(),
            "cannot write '" + nowhere.string() + "': No such file or directory");
}

TEST(WriteFile, AStreamWithoutAReasonHasNone) {
  std::ostringstream stream;
  ASSERT_TRUE(write_text(stream, "text", "the text").ok());
  EXPECT_EQ(stream.str(), "text");
  stream.setstate(std::ios::badbit);
  errno = ENOSPC;  // from an earlier failure
  EXPECT_EQ(write_text(stream, "text", "the text").error().message(), "cannot write the text");
}

}  // namespace
}  // namespace pando::testing
