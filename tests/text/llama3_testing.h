// Llama 3's vocabulary is published as tiktoken ranks; this writes the tokenizer.json that stands
// for the same tokens.
#pragma once

#include <algorithm>
#include <sstream>
#include <unordered_map>

#include "text/split_pattern.h"
#include "text_testing.h"

namespace pando::testing {

inline std::string from_base64(std::string_view text) {
  static const std::string kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int n_bits = 0;
  for (char digit : text) {
    if (digit == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(kDigits.find(digit));
    n_bits += 6;
    if (n_bits < 8) continue;
    n_bits -= 8;
    bytes += static_cast<char>(bits >> n_bits & 0xFF);
  }
  return bytes;
}

inline std::string to_byte_level(std::string_view bytes) {
  std::string text;
  for (char byte : bytes) text += byte_level_character(static_cast<unsigned char>(byte));
  return text;
}

// Tokens by rank, as bytes.
inline std::vector<std::string> read_tiktoken(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> tokens;
  std::string base64;
  size_t rank = 0;
  while (file >> base64 >> rank) {
    tokens.resize(std::max(tokens.size(), rank + 1));
    tokens[rank] = from_base64(base64);
  }
  return tokens;
}

inline std::string plain_text(std::string_view text) { return std::string(text); }

// Every way to put a token together from two others is a merge, in the order of the result's rank,
// then of the parts' ranks. `written` gives the text of a token in the file.
inline Json merges_of(const std::vector<std::string>& tokens,
                      std::string (*written)(std::string_view)) {
  std::unordered_map<std::string_view, size_t> rank_of;
  for (size_t rank = 0; rank < tokens.size(); ++rank) rank_of[tokens[rank]] = rank;
  Json merges = Json::array();
  for (const std::string_view token : tokens) {
    std::vector<std::pair<size_t, size_t>> pairs;
    for (size_t cut = 1; cut < token.size(); ++cut) {
      const auto left = rank_of.find(token.substr(0, cut));
      const auto right = rank_of.find(token.substr(cut));
      if (left != rank_of.end() && right != rank_of.end()) {
        pairs.emplace_back(left->second, right->second);
      }
    }
    std::sort(pairs.begin(), pairs.end());
    for (const auto& [left, right] : pairs) {
      merges.push_back(Json::array({written(tokens[left]), written(tokens[right])}));
    }
  }
  return merges;
}

inline void write_llama3(const std::filesystem::path& tiktoken, const TempDirectory& directory) {
  const std::vector<std::string> tokens = read_tiktoken(tiktoken);
  Json vocab = Json::object();
  for (size_t rank = 0; rank < tokens.size(); ++rank) vocab[to_byte_level(tokens[rank])] = rank;
  const Json split = {{"type", "Split"},
                      {"pattern", {{"Regex", std::string(kLlama3Pattern)}}},
                      {"behavior", "Isolated"},
                      {"invert", false}};
  const Json byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  const Json begin = {{"SpecialToken", {{"id", "<|begin_of_text|>"}, {"type_id", 0}}}};
  const Json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  directory.write_json(
      "tokenizer.json",
      Json{{"added_tokens", Json::array({added_token(128000, "<|begin_of_text|>"),
                                         added_token(128001, "<|end_of_text|>"),
                                         added_token(128009, "<|eot_id|>")})},
           {"pre_tokenizer",
            {{"type", "Sequence"}, {"pretokenizers", Json::array({split, byte_level})}}},
           {"decoder", {{"type", "ByteLevel"}}},
           {"post_processor",
            {{"type", "TemplateProcessing"}, {"single", Json::array({begin, text})}}},
           {"model",
            {{"type", "BPE"},
             {"ignore_merges", true},
             {"vocab", vocab},
             {"merges", merges_of(tokens, to_byte_level)}}}});
  directory.write_json("tokenizer_config.json",
                       Json{{"bos_token", "<|begin_of_text|>"}, {"eos_token", "<|end_of_text|>"}});
}

}  // namespace pando::testing
