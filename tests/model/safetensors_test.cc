#include "model/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "model/test_files.h"

namespace pando::model {
namespace {

class SafetensorsTest : public ::testing::Test {
 protected:
  Result<Safetensors> open(std::string_view bytes) const {
    return Safetensors::open(folder_.write("t.safetensors", bytes));
  }

  // The error of a file with this header and 16 bytes of data; it must hold `words`.
  void expect_bad(std::string_view header, std::string_view words,
                  ErrorCode code = ErrorCode::kBadFile) const {
    const Result<Safetensors> file = open(safetensors_bytes(header, "0123456789abcdef"));
    ASSERT_FALSE(file.ok()) << header;
    EXPECT_EQ(file.error().code, code) << file.error().message();
    EXPECT_NE(file.error().message().find(words), std::string::npos) << file.error().message();
    EXPECT_NE(file.error().message().find("t.safetensors"), std::string::npos)
        << file.error().message();
  }

  const TemporaryFolder folder_;
};

TEST_F(SafetensorsTest, ReadsEveryEntry) {
  const auto file = open(safetensors_bytes(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},
          "a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},
          "none":{"dtype":"I64","shape":[0,7],"data_offsets":[4,4]}})",
      "0123456789abcdef"));
  ASSERT_TRUE(file.ok()) << file.error().message();
  ASSERT_EQ(file->tensors().size(), 3u);
  const TensorEntry& b = file->tensors().at("b");
  EXPECT_EQ(b.dtype, "BF16");
  EXPECT_EQ(b.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::memcmp(file->file().data() + b.offset, "456789abcdef", b.n_bytes), 0);
  EXPECT_EQ(file->tensors().at("a").n_bytes, 4u);
  EXPECT_EQ(file->tensors().at("none").n_bytes, 0u);
}

TEST_F(SafetensorsTest, RefusesHeadersThatDoNotFitTheFile) {
  EXPECT_EQ(Safetensors::open(folder_.path() / "absent").error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(open("").ok());
  EXPECT_FALSE(open("1234567").ok());
  EXPECT_FALSE(open(std::string_view("\0\0\0\0\0\0\0\0", 8)).ok());  // no header at all
  const std::string good =
      safetensors_bytes(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "abcd");
  EXPECT_TRUE(open(good).ok());
  for (size_t n = 0; n < good.size(); ++n) EXPECT_FALSE(open(good.substr(0, n)).ok()) << n;
  std::string longer = good;
  longer[0] = static_cast<char>(good.size());  // beyond the end
  EXPECT_NE(open(longer).error().message().find("header length"), std::string::npos);
  for (const size_t byte : {4, 7}) {
    std::string huge = good;
    huge[byte] = '\xff';
    EXPECT_NE(open(huge).error().message().find("header length"), std::string::npos);
  }
}

TEST_F(SafetensorsTest, RefusesHeadersThatAreNotWhatTheyShouldBe) {
  expect_bad("{not json", "not JSON");
  for (const char* other : {"[]", " {}", "\n{}", "\xef\xbb\xbf{}"})
    expect_bad(other, "does not begin with '{'");
  expect_bad(R"({"__metadata__":{"format":5}})", "'__metadata__.format' is 5");
  expect_bad(R"({"__metadata__":"pt"})", "'__metadata__' is \"pt\"");
  expect_bad(R"({"a":3})", "tensor 'a' is 3");
  expect_bad(R"({"a":{"shape":[4],"data_offsets":[0,4]}})", "has dtype ''",
             ErrorCode::kUnsupported);
  expect_bad(R"({"a":{"dtype":7,"shape":[4],"data_offsets":[0,4]}})", "'dtype' is 7");
  expect_bad(R"({"a":{"dtype":"Q4","shape":[4],"data_offsets":[0,4]}})", "'Q4'",
             ErrorCode::kUnsupported);
  expect_bad(R"({"a":{"dtype":"U8","data_offsets":[0,4]}})", "'shape' is absent");
  expect_bad(R"({"a":{"dtype":"U8","shape":[-4],"data_offsets":[0,4]}})", "'shape' is [-4]");
  expect_bad(R"({"a":{"dtype":"U8","shape":[4.0],"data_offsets":[0,4]}})", "'shape'");
  expect_bad(R"({"a":{"dtype":"U8","shape":[4]}})", "'data_offsets' is absent");
  expect_bad(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0]}})", "'data_offsets'");
  expect_bad(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4,8]}})", "'data_offsets'");
  expect_bad(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[8,4]}})", "'data_offsets' is [8,4]");
  expect_bad(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[-4,0]}})", "'data_offsets'");
  expect_bad(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},
                 "a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
             "'a' appears twice");
  expect_bad(R"({"a":{"dtype":"U8","shape":[4],"dtype":"U8","data_offsets":[0,4]}})",
             "'dtype' appears twice in 'a'");
}

TEST_F(SafetensorsTest, RefusesTensorsThatAreNotWhereTheyShouldBe) {
  expect_bad(R"({"a":{"dtype":"U8","shape":[17],"data_offsets":[0,17]}})",
             "tensor 'a' ends at byte 17 of the data, expected at most 16");
  expect_bad(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,16]}})",
             "has 16 bytes, expected 12 for F32 [3]");
  expect_bad(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,9223372036854775807]}})",
             "ends at");
  expect_bad(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,18446744073709551615]}})",
             "data_offsets");
  expect_bad(R"({"a":{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,0]}})",
             "'shape'");
  expect_bad(R"({"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]}})",
             "fewer than 2^64");
  expect_bad(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})",
             "fewer than 2^64");
  expect_bad(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},
                 "b":{"dtype":"U8","shape":[8],"data_offsets":[7,15]}})",
             "'a' and 'b' overlap");
  expect_bad(R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},
                 "b":{"dtype":"U8","shape":[2],"data_offsets":[3,5]}})",
             "overlap");
}

// A file with bytes of no tensor is not the file that was written.
TEST_F(SafetensorsTest, RefusesBytesOfNoTensor) {
  expect_bad(R"({"a":{"dtype":"U8","shape":[12],"data_offsets":[4,16]}})",
             "tensor 'a' begins at byte 4 of the data, expected 0, the first byte");
  expect_bad(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},
                 "b":{"dtype":"U8","shape":[8],"data_offsets":[8,16]}})",
             "tensor 'b' begins at byte 8 of the data, expected 4, behind tensor 'a'");
  expect_bad(R"({"a":{"dtype":"U8","shape":[12],"data_offsets":[0,12]}})",
             "has 16 bytes of data, expected 12, the end of its last tensor");
  expect_bad("{}", "has 16 bytes of data, expected 0");
  expect_bad(R"({"a":{"dtype":"U8","shape":[16],"data_offsets":[0,16]},
                 "z":{"dtype":"U8","shape":[0],"data_offsets":[8,8]}})",
             "'a' and 'z' overlap");
  // White space after the header is padding.
  EXPECT_TRUE(open(safetensors_bytes("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],"
                                     "\"data_offsets\":[0,4]}}  \n\t ",
                                     "abcd"))
                  .ok());
}

TEST_F(SafetensorsTest, WritesWhatItReads) {
  const std::vector<SafetensorsWriter::Tensor> tensors = {
      {"x", DType::kF32, {2, 1}}, {"y", DType::kBF16, {3}}, {"z", DType::kF16, {0}}};
  const auto path = folder_.path() / "w.safetensors";
  auto writer = SafetensorsWriter::create(path, tensors);
  ASSERT_TRUE(writer.ok()) << writer.error().message();
  const std::string data = "01234567ABCDEF";
  for (size_t i = 0; i < data.size(); i += 7)  // not where tensors begin
    ASSERT_TRUE(writer->append(std::as_bytes(std::span(data).subspan(i, 7))).ok());
  EXPECT_FALSE(std::filesystem::exists(path));
  ASSERT_TRUE(writer->finish().ok());
  const auto file = Safetensors::open(path);
  ASSERT_TRUE(file.ok()) << file.error().message();
  const TensorEntry& y = file->tensors().at("y");
  EXPECT_EQ(y.dtype, "BF16");
  EXPECT_EQ(std::memcmp(file->file().data() + y.offset, "ABCDEF", 6), 0);
  EXPECT_EQ(file->tensors().at("x").offset % 8, 0u);
  EXPECT_TRUE(file->tensors().contains("z"));
}

TEST_F(SafetensorsTest, WriterCountsBytes) {
  const std::vector<SafetensorsWriter::Tensor> tensors = {{"x", DType::kF32, {2}}};
  {
    auto writer = SafetensorsWriter::create(folder_.path() / "w.safetensors", tensors);
    ASSERT_TRUE(writer.ok());
    EXPECT_EQ(writer->finish().error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  EXPECT_EQ(SafetensorsWriter::create(folder_.path() / "no" / "where", tensors).error().code,
            ErrorCode::kIo);
}

}  // namespace
}  // namespace pando::model
