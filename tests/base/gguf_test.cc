#include "base/gguf.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "base/gguf_writer.h"

namespace pando::testing {
namespace {

namespace fs = std::filesystem;

class GgufTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "pando-gguf-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  Result<GgufFile> open(const std::string& bytes) const {
    std::ofstream(folder_ / "file.gguf", std::ios::binary) << bytes;
    return GgufFile::open(folder_ / "file.gguf");
  }

  void expect_refused(const std::string& bytes, std::string_view part,
                      ErrorCode code = ErrorCode::kBadFile) const {
    const Result<GgufFile> file = open(bytes);
    ASSERT_FALSE(file.ok()) << part;
    EXPECT_EQ(file.error().code, code) << file.error().message();
    EXPECT_NE(file.error().message().find(part), std::string::npos) << file.error().message();
    EXPECT_NE(file.error().message().find("file.gguf"), std::string::npos);
  }

  fs::path folder_;
};

GgufWriter example(uint32_t version) {
  GgufWriter writer(version);
  writer.string("general.architecture", "llama")
      .uint32("u32", 4'000'000'000u)
      .number("i8", GgufType::kInt8, int8_t{-3})
      .number("u64", GgufType::kUint64, uint64_t{1} << 40)
      .float32("f32", 0.5f)
      .number("f64", GgufType::kFloat64, 0.25)
      .boolean("yes", true)
      .strings("words", {"a", "", "\xFF\xFE"})
      .numbers("ids", GgufType::kInt32, std::vector<int32_t>{-1, 2})
      .numbers("flags", GgufType::kBool, std::vector<uint8_t>{1, 0, 1})
      .numbers("scores", GgufType::kFloat32, std::vector<float>{-1.5f, 2.0f})
      .numbers("none", GgufType::kUint8, std::vector<uint8_t>{})
      .tensor("a", {2, 3}, 0, std::string(24, 'a'))
      .tensor("b", {5, 1, 2, 7}, 8, std::string(70, 'b'));
  return writer;
}

TEST_F(GgufTest, GivesValuesAndTensors) {
  for (uint32_t version : {2u, 3u}) {
    const Result<GgufFile> file = open(example(version).bytes());
    ASSERT_TRUE(file.ok()) << file.error().message();
    EXPECT_EQ(file->version(), version);
    EXPECT_EQ(**file->string("general.architecture"), "llama");
    EXPECT_EQ(**file->integer("u32"), 4'000'000'000);
    EXPECT_EQ(**file->integer("i8"), -3);
    EXPECT_EQ(**file->integer("u64"), int64_t{1} << 40);
    EXPECT_EQ(**file->real("f32"), 0.5);
    EXPECT_EQ(**file->real("f64"), 0.25);
    EXPECT_TRUE(**file->boolean("yes"));
    EXPECT_EQ(**file->strings("words"), (std::vector<std::string_view>{"a", "", "\xFF\xFE"}));
    EXPECT_EQ(**file->integers("ids"), (std::vector<int64_t>{-1, 2}));
    EXPECT_EQ(**file->integers("flags"), (std::vector<int64_t>{1, 0, 1}));
    EXPECT_EQ(**file->integers("none"), std::vector<int64_t>());
    EXPECT_EQ(**file->reals("scores"), (std::vector<float>{-1.5f, 2.0f}));

    ASSERT_EQ(file->tensors().size(), 2u);
    const GgufTensor& b = file->tensors()[1];
    EXPECT_EQ(file->find_tensor("b"), &b);
    EXPECT_EQ(file->find_tensor("c"), nullptr);
    EXPECT_EQ(b.shape, (std::vector<int64_t>{5, 1, 2, 7}));
    EXPECT_EQ(b.type, 8u);
    EXPECT_EQ(b.available, 70u);
    EXPECT_EQ(b.offset % 32, 0u);
    EXPECT_EQ(std::memcmp(file->file().data() + b.offset, std::string(70, 'b').data(), 70), 0);
    EXPECT_EQ(file->find_tensor("a")->available, 32u + 70u);
  }
}

TEST_F(GgufTest, AbsentKeysAreNothingOtherTypesAreErrors) {
  const Result<GgufFile> file = open(example(3).bytes());
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(file->has("more"));
  EXPECT_TRUE(file->has("u32"));
  EXPECT_FALSE(file->integer("more")->has_value());
  EXPECT_FALSE(file->strings("more")->has_value());
  const auto message = [](const auto& result) {
    EXPECT_FALSE(result.ok());
    return result.ok() ? std::string() : result.error().message();
  };
  EXPECT_NE(message(file->integer("f32")).find("'f32' is 0.5, expected a whole number"),
            std::string::npos);
  EXPECT_NE(message(file->real("u32")).find("is 4000000000, expected a float"), std::string::npos);
  EXPECT_NE(message(file->boolean("i8")).find("is -3, expected true or false"), std::string::npos);
  EXPECT_NE(message(file->string("yes")).find("is true, expected a string"), std::string::npos);
  EXPECT_NE(message(file->reals("words")).find("is an array of 3 of type string"),
            std::string::npos);
  EXPECT_NE(message(file->integers("general.architecture")).find("is 'llama'"), std::string::npos);
  EXPECT_FALSE(file->strings("scores").ok());
  EXPECT_FALSE(file->integers("scores").ok());
  EXPECT_NE(file->wrong("more", "x").message().find("'more' is missing"), std::string::npos);
}

TEST_F(GgufTest, AlignmentIsTheFilesOwn) {
  GgufWriter writer;
  writer.uint32("general.alignment", 128).tensor("a", {1}, 0, "aaaa", 128);
  writer.tensor("b", {1}, 0, "bbbb", 128);
  const Result<GgufFile> file = open(writer.bytes(128));
  ASSERT_TRUE(file.ok()) << file.error().message();
  EXPECT_EQ(file->alignment(), 128u);
  EXPECT_EQ(file->find_tensor("b")->offset, 256u);
  expect_refused(GgufWriter().uint32("general.alignment", 48).bytes(), "expected a power of two");
  expect_refused(GgufWriter().uint32("general.alignment", 0).bytes(), "expected a power of two");
  expect_refused(GgufWriter().string("general.alignment", "x").bytes(), "expected a whole number");
}

TEST_F(GgufTest, RefusesOtherFiles) {
  expect_refused("not a model file", "does not begin with 'GGUF'");
  expect_refused("GG", "ends at byte 2");
  expect_refused(GgufWriter(1).bytes(), "version 1, expected 2 or 3", ErrorCode::kUnsupported);
  expect_refused(GgufWriter(4).bytes(), "version 4", ErrorCode::kUnsupported);
  expect_refused(GgufWriter(3u << 24).bytes(), "big-endian", ErrorCode::kUnsupported);
  EXPECT_EQ(GgufFile::open(folder_ / "none").error().code, ErrorCode::kNotFound);
}

TEST_F(GgufTest, RefusesBadValues) {
  expect_refused(GgufWriter().uint32("a", 1).uint32("a", 2).bytes(), "'a' appears twice");
  expect_refused(GgufWriter().uint32("", 1).bytes(), "a key has 0 bytes");
  expect_refused(GgufWriter().number("b", GgufType::kBool, uint8_t{2}).bytes(), "a bool of 2");
  expect_refused(GgufWriter().numbers("b", GgufType::kBool, std::vector<uint8_t>{1, 7}).bytes(),
                 "a bool of 7");
  expect_refused(GgufWriter().number("t", static_cast<GgufType>(13), 0).bytes(), "has type 13");
  expect_refused(GgufWriter().numbers("t", static_cast<GgufType>(99), std::vector<int>{1}).bytes(),
                 "array of type 99");
  expect_refused(GgufWriter().numbers("t", GgufType::kArray, std::vector<int>{1}).bytes(),
                 "array of arrays", ErrorCode::kUnsupported);
}

TEST_F(GgufTest, RefusesBadTensors) {
  const auto with = [](const std::vector<int64_t>& shape) {
    return GgufWriter().tensor("a", shape, 0, "aaaa").bytes();
  };
  expect_refused(with({}), "has 0 dimensions");
  expect_refused(with({1, 1, 1, 1, 1}), "has 5 dimensions");
  expect_refused(with({0}), "a dimension of 0");
  expect_refused(with({-4}), "a dimension of -4");
  expect_refused(with({int64_t{1} << 32, int64_t{1} << 32}), "overflow");
  expect_refused(GgufWriter().tensor("a", {1}, 0, "x").tensor("a", {1}, 0, "x").bytes(),
                 "tensor 'a' appears twice");
  expect_refused(GgufWriter().tensor("a", {1}, 0, "").bytes(), "inside the tensors");
  expect_refused(GgufWriter().tensor("a", {1}, 0, "x").tensor("b", {1}, 0, "x", 8).bytes(),
                 "offset 8, expected a multiple of 32");
  expect_refused(GgufWriter().tensor("a", {1}, 0, "x").tensor("b", {1}, 0, "").bytes(),
                 "offset 32, expected an offset below 32");
}

TEST_F(GgufTest, AClaimTakesNoMemory) {
  for (uint64_t claim : {uint64_t{1} << 40, UINT64_MAX}) {
    std::string bytes = GgufWriter().bytes();
    std::memcpy(&bytes[8], &claim, 8);
    expect_refused(bytes, "ends at byte 24");
    std::memset(&bytes[8], 0, 8);
    std::memcpy(&bytes[16], &claim, 8);
    expect_refused(bytes, "ends at byte 24");
    for (GgufType element : {GgufType::kString, GgufType::kFloat64, GgufType::kBool}) {
      std::string array = GgufWriter().numbers("list", element, std::vector<uint8_t>{}).bytes();
      std::memcpy(&array[array.size() - 8], &claim, 8);
      expect_refused(array, "inside list");
    }
    std::string text = GgufWriter().string("text", "").bytes();
    std::memcpy(&text[text.size() - 8], &claim, 8);
    expect_refused(text, "inside text");
  }
}

// Cut or changed anywhere, the file is refused or read, and never read beyond its end.
TEST_F(GgufTest, SurvivesDamage) {
  const std::string good = example(3).bytes();
  for (size_t length = 1; length + 70 < good.size(); length += 5) {
    EXPECT_FALSE(open(good.substr(0, length)).ok()) << length;
  }
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::string bytes = good;
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    const Result<GgufFile> file = open(bytes);
    if (!file.ok()) continue;
    for (const GgufTensor& tensor : file->tensors()) {
      EXPECT_LE(tensor.offset + tensor.available, bytes.size());
    }
    (void)file->strings("words");
    (void)file->integers("ids");
  }
}

}  // namespace
}  // namespace pando::testing
