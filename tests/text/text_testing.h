// Shared by the tests of text/: temporary directories, small vocabularies, published tokenizers.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "text/byte_level.h"
#include "text/json_file.h"
#include "text/tokenizer.h"

namespace pando::testing {

// A directory that goes with the test.
class TempDirectory {
 public:
  TempDirectory() {
    std::string path = (std::filesystem::temp_directory_path() / "pando-text-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path_ = path;
  }
  ~TempDirectory() { std::filesystem::remove_all(path_); }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
  }
  void write_json(const std::string& name, const Json& document) const {
    write(name, document.dump());
  }

 private:
  std::filesystem::path path_;
};

// The 256 bytes as tokens 0 to 255, then `more`, in byte-level characters.
inline Json byte_vocab(const std::vector<std::string>& more = {}) {
  Json vocab = Json::object();
  for (int byte = 0; byte < 256; ++byte) {
    vocab[byte_level_character(static_cast<unsigned char>(byte))] = byte;
  }
  int next = 256;
  for (const std::string& text : more) vocab[text] = next++;
  return vocab;
}

inline Json added_token(int id, const std::string& content, bool special = true) {
  return {{"id", id}, {"content", content}, {"special", special}};
}

inline std::string to_base64(std::string_view bytes) {
  static const std::string kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t bits = 0;
    const size_t n = std::min<size_t>(3, bytes.size() - at);
    for (size_t i = 0; i < 3; ++i) {
      bits = bits << 8 | (i < n ? static_cast<unsigned char>(bytes[at + i]) : 0);
    }
    for (size_t i = 0; i < 4; ++i) {
      text += i <= n ? kDigits[bits >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

// A byte-level tokenizer.json with the words of GPT-2.
inline Json byte_level_json(const std::vector<std::string>& tokens, const Json& merges) {
  return {{"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
          {"decoder", {{"type", "ByteLevel"}}},
          {"post_processor", nullptr},
          {"added_tokens", Json::array()},
          {"model", {{"type", "BPE"}, {"vocab", byte_vocab(tokens)}, {"merges", merges}}}};
}

// Loads, or fails the test with the error's message.
inline std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& directory) {
  auto loaded = Tokenizer::load(directory);
  if (loaded.ok()) return std::move(*loaded);
  ADD_FAILURE() << loaded.error().message();
  return nullptr;
}

inline std::unique_ptr<Tokenizer> load_json(const Json& tokenizer_json) {
  const TempDirectory directory;
  directory.write_json("tokenizer.json", tokenizer_json);
  return load_tokenizer(directory.path());
}

inline std::vector<Token> encode(const Tokenizer& tokenizer, std::string_view text,
                                 bool add_bos = false) {
  auto tokens = tokenizer.encode(text, add_bos);
  if (tokens.ok()) return std::move(*tokens);
  ADD_FAILURE() << tokens.error().message();
  return {};
}

// The folder of published tokenizers, or an empty path where it is not here.
inline std::filesystem::path shared_tokenizers() {
  const std::filesystem::path path = std::filesystem::path(PANDO_SHARED_DATA) / "tokenizers";
  return std::filesystem::exists(path) ? path : std::filesystem::path();
}

#define PANDO_NEED_SHARED_TOKENIZERS()               \
  if (::pando::testing::shared_tokenizers().empty()) \
  GTEST_SKIP() << "needs the published tokenizers, looked for in " PANDO_SHARED_DATA

}  // namespace pando::testing
