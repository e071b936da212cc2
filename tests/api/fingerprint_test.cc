// Two models differ in their fingerprint if a file differs that a model is read from, and only
// then.
#include <gtest/gtest.h>

#include <set>

#include "model/test_files.h"
#include "pando/model_files.h"

namespace pando {
namespace {

namespace fs = std::filesystem;

uint64_t fingerprint(const fs::path& path) { return model_fingerprint(path).value(); }

TEST(Fingerprint, IsOfNamesAndContents) {
  const TemporaryFolder folder;
  std::set<uint64_t> found;
  const auto is_new = [&] { return found.insert(fingerprint(folder.path())).second; };
  EXPECT_TRUE(is_new());
  folder.write("config.json", "{}");
  EXPECT_TRUE(is_new());
  folder.write("config.json", "[]");
  EXPECT_TRUE(is_new());
  folder.write("merges.txt", "");  // an empty file too
  EXPECT_TRUE(is_new());
  fs::rename(folder.path() / "merges.txt", folder.path() / "vocab.txt");
  EXPECT_TRUE(is_new());
  folder.write("model.safetensors", "weights");
  EXPECT_TRUE(is_new());

  folder.write("README.md", "not read");
  fs::create_directory(folder.path() / "other.json");
  EXPECT_FALSE(is_new());
  const TemporaryFolder elsewhere;
  fs::copy(folder.path(), elsewhere.path(), fs::copy_options::recursive);
  EXPECT_EQ(fingerprint(elsewhere.path()), fingerprint(folder.path()));
}

TEST(Fingerprint, IsOfModulesToo) {
  const TemporaryFolder folder;
  std::set<uint64_t> found;
  const auto is_new = [&] { return found.insert(fingerprint(folder.path())).second; };
  folder.write("modules.json", R"([{"path": "", "type": "sentence_transformers.models.Transformer"},
      {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
      {"path": "2_Dense", "type": "sentence_transformers.models.Dense"},
      {"path": "3_Normalize", "type": "sentence_transformers.models.Normalize"}])");
  for (const char* name : {"1_Pooling", "2_Dense", "onnx"})
    fs::create_directory(folder.path() / name);
  EXPECT_TRUE(is_new());
  folder.write("1_Pooling/config.json", R"({"pooling_mode": "mean"})");
  EXPECT_TRUE(is_new());
  folder.write("1_Pooling/config.json", R"({"pooling_mode": "cls"})");
  EXPECT_TRUE(is_new());
  folder.write("2_Dense/pytorch_model.bin", "weights");
  EXPECT_TRUE(is_new());
  folder.write("2_Dense/pytorch_model.bin", "others");
  EXPECT_TRUE(is_new());
  folder.write("2_Dense/README.md", "not read");
  folder.write("onnx/config.json", "{}");
  EXPECT_FALSE(is_new());
}

TEST(Fingerprint, AFileOfATokenizerIsReadWithOthers) {
  const TemporaryFolder folder;
  const fs::path file = folder.write("tokenizer.json", "{}");
  std::set<uint64_t> found = {fingerprint(file)};
  folder.write("tokenizer_config.json", "{}");
  EXPECT_TRUE(found.insert(fingerprint(file)).second);
  folder.write("chat_template.jinja", "a");
  EXPECT_TRUE(found.insert(fingerprint(file)).second);
  folder.write("model.safetensors", "weights");
  folder.write("tekken.json", "{}");
  EXPECT_FALSE(found.insert(fingerprint(file)).second);
}

TEST(Fingerprint, OfALargeFileIsItsSizeAndPiecesToTheEnd) {
  const TemporaryFolder folder;
  const fs::path file = folder.write("model.gguf", "");
  constexpr size_t kSize = (size_t{64} << 20) + 3;
  fs::resize_file(file, kSize);
  std::set<uint64_t> found = {fingerprint(file)};
  for (const size_t position : {size_t{0}, kSize - 4096}) {
    std::fstream(file, std::ios::in | std::ios::out | std::ios::binary)
        .seekp(static_cast<std::streamoff>(position))
        .put('x');
    EXPECT_TRUE(found.insert(fingerprint(file)).second) << position;
  }
  fs::resize_file(file, kSize + 1);
  EXPECT_TRUE(found.insert(fingerprint(file)).second);
}

TEST(Fingerprint, WhatCannotBeReadIsNamed) {
  const Result<uint64_t> found = model_fingerprint("/nonexistent/model");
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message().find("/nonexistent/model"), std::string::npos);
}

}  // namespace
}  // namespace pando
