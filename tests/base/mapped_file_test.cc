#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "base/is_there.h"

namespace pando {
namespace {

namespace fs = std::filesystem;

class MappedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "pando-map-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(const std::string& bytes) const {
    std::ofstream(folder_ / "file", std::ios::binary) << bytes;
    return folder_ / "file";
  }

  fs::path folder_;
};

TEST_F(MappedFileTest, GivesTheBytesAlsoAfterRelease) {
  std::string bytes(100'000, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31);
  const Result<MappedFile> file = MappedFile::open(write(bytes));
  ASSERT_TRUE(file.ok()) << file.error().message();
  ASSERT_EQ(file->size(), bytes.size());
  EXPECT_EQ(std::memcmp(file->data(), bytes.data(), bytes.size()), 0);
  file->release(10, 50'000);
  file->release(0, SIZE_MAX);
  file->release(90'000, SIZE_MAX);
  file->release(SIZE_MAX, SIZE_MAX);
  EXPECT_EQ(std::memcmp(file->data(), bytes.data(), bytes.size()), 0);
}

TEST_F(MappedFileTest, MovesItsMapping) {
  Result<MappedFile> file = MappedFile::open(write("abc"));
  ASSERT_TRUE(file.ok());
  MappedFile first = std::move(file).value();
  MappedFile second = std::move(first);
  EXPECT_EQ(std::memcmp(second.data(), "abc", 3), 0);
}

TEST_F(MappedFileTest, RefusesPointersOfGitLfs) {
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 5312345678\n";
  const Result<MappedFile> file = MappedFile::open(write(pointer));
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, ErrorCode::kBadFile);
  EXPECT_NE(file.error().message().find("Git LFS pointer"), std::string::npos);
  EXPECT_TRUE(MappedFile::open(write("see " + pointer)).ok());
}

// Some files are optional. One that exists but cannot be read does not count as absent.
TEST_F(MappedFileTest, ABrokenLinkIsNoMissingFile) {
  EXPECT_FALSE(is_there(folder_ / "absent"));
  EXPECT_FALSE(is_there(folder_ / "no-folder" / "absent"));
  EXPECT_FALSE(is_there("absent-in-this-folder"));
  fs::create_symlink("nowhere", folder_ / "link");
  fs::create_symlink("circle", folder_ / "circle");
  fs::create_symlink("nowhere", folder_ / "folder");
  write("a file");
  fs::create_directory(folder_ / "directory");
  for (const char* there : {"link", "circle", "folder", "folder/f", "file", "file/f", "directory"})
    EXPECT_TRUE(is_there(folder_ / there)) << there;
  for (const auto& [name, broken] : {std::pair{"link", "link"}, {"folder/f", "folder"}}) {
    const Result<MappedFile> file = MappedFile::open(folder_ / name);
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.error().code, ErrorCode::kIo);
    EXPECT_EQ(file.error().message(),
              (folder_ / broken).string() + ": is a broken link to 'nowhere'");
  }
  EXPECT_EQ(MappedFile::open(folder_ / "circle").error().code, ErrorCode::kIo);
}

TEST_F(MappedFileTest, NamesWhatIsWrong) {
  const auto error = [](const fs::path& path) {
    const Result<MappedFile> file = MappedFile::open(path);
    EXPECT_FALSE(file.ok());
    return file.ok() ? Error{} : file.error();
  };
  EXPECT_EQ(error(folder_ / "absent").code, ErrorCode::kNotFound);
  EXPECT_EQ(error(write("x") / "below-a-file").code, ErrorCode::kBadFile);
  EXPECT_EQ(error(write("x") / "below-a-file").message(),
            (folder_ / "file").string() + ": is not a directory");
  EXPECT_EQ(error(folder_).code, ErrorCode::kBadFile);
  EXPECT_NE(error(folder_).message().find("is a directory"), std::string::npos);
  EXPECT_EQ(error(write("")).code, ErrorCode::kBadFile);
  EXPECT_NE(error(write("")).message().find("is empty"), std::string::npos);
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(error(folder_ / "pipe").code, ErrorCode::kBadFile);
}

}  // namespace
}  // namespace pando
