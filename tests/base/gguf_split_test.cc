// Models in several GGUF files.
#include "base/gguf_split.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "base/gguf_writer.h"

namespace pando::testing {
namespace {

namespace fs = std::filesystem;

class GgufSplitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "pando-split-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, const GgufWriter& writer) const {
    const std::string bytes = writer.bytes();
    std::ofstream(folder_ / name, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return folder_ / name;
  }

  // Part `number` from 0 of three, with one tensor of this name.
  static GgufWriter part(uint16_t number, std::string_view tensor, std::string_view bytes) {
    GgufWriter writer;
    writer.number("split.no", GgufType::kUint16, number)
        .number("split.count", GgufType::kUint16, uint16_t{3})
        .number("split.tensors.count", GgufType::kInt32, int32_t{3});
    if (number == 0) writer.string("general.architecture", "llama");
    writer.tensor(tensor, {2}, 0, bytes);
    return writer;
  }
  fs::path write_all() const {
    write("m-00002-of-00003.gguf", part(1, "b", "ijklmnop"));
    write("m-00003-of-00003.gguf", part(2, "c", "qrstuvwx"));
    return write("m-00001-of-00003.gguf", part(0, "a", "abcdefgh"));
  }

  void expect_refused(const fs::path& path, ErrorCode code,
                      std::initializer_list<std::string_view> words) const {
    const Result<GgufFile> file = GgufFile::open(path);
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.error().code, code) << file.error().message();
    for (const std::string_view word : words)
      EXPECT_NE(file.error().message().find(word), std::string::npos) << file.error().message();
  }

  fs::path folder_;
};

TEST_F(GgufSplitTest, NamesSayThePart) {
  const auto part = gguf_part("folder/qwen3-8b-q4_k_m-00002-of-00012.gguf");
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->stem, "qwen3-8b-q4_k_m");
  EXPECT_EQ(part->number, 2);
  EXPECT_EQ(part->count, 12);
  for (const char* name : {"m.gguf", "m-1-of-3.gguf", "m-00000-of-00003.gguf", ".gguf",
                           "m-00004-of-00003.gguf", "m-00001-of-00003.bin", "-of-00003.gguf",
                           "m-00001of-00003.gguf", "m00001-of-00003.gguf", "m-0000a-of-00003.gguf"})
    EXPECT_FALSE(gguf_part(name).has_value()) << name;
  EXPECT_EQ(gguf_parts("f/m-00001-of-00002.gguf"),
            (std::vector<fs::path>{"f/m-00001-of-00002.gguf", "f/m-00002-of-00002.gguf"}));
  EXPECT_EQ(gguf_parts("f/m.gguf"), std::vector<fs::path>{"f/m.gguf"});
}

TEST_F(GgufSplitTest, TheFirstStandsForAll) {
  const Result<GgufFile> file = GgufFile::open(write_all());
  ASSERT_TRUE(file.ok()) << file.error().message();
  ASSERT_EQ(file->tensors().size(), 3u);
  const std::pair<const char*, const char*> expected[] = {
      {"a", "abcdefgh"}, {"b", "ijklmnop"}, {"c", "qrstuvwx"}};
  for (const auto& [name, bytes] : expected) {
    const GgufTensor* tensor = file->find_tensor(name);
    ASSERT_NE(tensor, nullptr) << name;
    EXPECT_EQ(std::memcmp(file->file_of(*tensor).data() + tensor->offset, bytes, 8), 0) << name;
  }
  EXPECT_EQ(file->file_of(*file->find_tensor("c")).path().filename(), "m-00003-of-00003.gguf");
}

TEST_F(GgufSplitTest, NamesThePartThatIsWrong) {
  const fs::path first = write_all();
  expect_refused(folder_ / "m-00002-of-00003.gguf", ErrorCode::kInvalidArgument,
                 {"part 2 of 3", "m-00001-of-00003.gguf"});
  fs::copy_file(first, folder_ / "other.gguf");
  expect_refused(folder_ / "other.gguf", ErrorCode::kBadFile, {"part 1 of 3", "-00001-of-00003"});

  write("m-00003-of-00003.gguf", part(1, "c", "qrstuvwx"));
  expect_refused(first, ErrorCode::kBadFile, {"m-00003-of-00003.gguf", "split.no"});
  write("m-00003-of-00003.gguf", part(2, "b", "qrstuvwx"));
  expect_refused(first, ErrorCode::kBadFile, {"m-00003-of-00003.gguf", "'b'", "another part"});
  GgufWriter two = part(2, "c", "qrstuvwx");
  two.tensor("d", {2}, 0, "12345678");
  write("m-00003-of-00003.gguf", two);
  expect_refused(first, ErrorCode::kBadFile, {"4 tensors", "expected 3"});
  fs::remove(folder_ / "m-00003-of-00003.gguf");
  expect_refused(first, ErrorCode::kNotFound, {"m-00003-of-00003.gguf", "part 3 of 3"});
}

}  // namespace
}  // namespace pando::testing
