// The tokenizer.json of one line of data/steps.jsonl: its steps around a model in which many pairs
// of symbols merge. The same as in tools/tokenizer_steps_golden.py; change both together.
#pragma once

#include <set>

#include "base/gguf_writer.h"
#include "text/bpe.h"
#include "text/utf8.h"
#include "text_testing.h"
#include "unicode_strings.h"

namespace pando::testing {

inline const std::string kStepsData = PANDO_SOURCE_DIR "/tests/text/data/";

inline std::vector<Json> read_step_cases(const std::string& name = "steps.jsonl") {
  std::vector<Json> cases;
  std::ifstream file(kStepsData + name);
  for (std::string line; std::getline(file, line);) cases.push_back(Json::parse(line));
  return cases;
}

// The hash of each case, by its name.
inline std::map<std::string, uint64_t> read_step_hashes(const std::string& name) {
  std::map<std::string, uint64_t> hashes;
  std::ifstream file(kStepsData + name);
  for (std::string of, hash; file >> of >> hash;) hashes[of] = std::stoull(hash, nullptr, 16);
  return hashes;
}

// Without those that have characters newer than some of the library's tables: U+09FD, U+1CF22,
// U+2E44, U+061D, U+107BA.
inline std::vector<std::string> step_texts() {
  static const std::set<uint64_t> left_out = {480, 673, 1219, 1456, 1704};
  UnicodeStrings strings(kStepsData + "assigned_ranges.txt");
  std::vector<std::string> texts;
  for (uint64_t i = 0; i < 2000; ++i) {
    if (!left_out.contains(i)) texts.push_back(strings.string(i));
  }
  return texts;
}

// Adds a quarter of the pairs of `symbols` to `*vocab` from the id `first` on, the last symbol's
// first; gives the merges.
inline Json add_pairs(const std::vector<std::string>& symbols, int first, Json* vocab) {
  Json merges = Json::array();
  for (size_t i = symbols.size(); i-- > 0;) {
    for (size_t j = 0; j < symbols.size(); ++j) {
      if ((i + j) % 4 != 0) continue;
      (*vocab)[symbols[i] + symbols[j]] = first + merges.size();
      merges.push_back({symbols[i], symbols[j]});
    }
  }
  return merges;
}

// True if the model of a case has a token for the byte.
inline bool step_has_byte(const Json& step_case, int byte) {
  return !step_case.contains("lacks") || byte % step_case["lacks"].get<int>() != 1;
}

inline Json step_bytes_model(const Json& step_case) {
  Json vocab = Json::object();
  std::vector<std::string> symbols;
  for (int byte = 0; byte < 256; ++byte) {
    if (!step_has_byte(step_case, byte)) continue;
    symbols.push_back(byte_level_character(static_cast<unsigned char>(byte)));
    vocab[symbols.back()] = byte;
  }
  const Json merges = add_pairs(symbols, 256, &vocab);
  const Json unknown = step_case.value("unk", Json());
  if (unknown.is_string()) vocab[unknown.get<std::string>()] = 256 + merges.size();
  return {{"type", "BPE"},        {"vocab", vocab},
          {"merges", merges},     {"ignore_merges", step_case.value("ignore_merges", false)},
          {"unk_token", unknown}, {"fuse_unk", step_case.value("fuse", false)}};
}

inline Json step_characters_model(const Json& step_case) {
  Json vocab = {{"<unk>", 0}, {"<s>", 1}, {"</s>", 2}};
  for (int byte = 0; byte < 256; ++byte) {
    if (!step_has_byte(step_case, byte)) continue;
    vocab[byte_token_text(static_cast<unsigned char>(byte))] = 3 + byte;
  }
  std::string_view rest = "\u2581abcdefghijklmnopqrstuvwxyzABCDEFGHIJ0123456789.,<>|_'";
  std::vector<std::string> symbols;
  while (!rest.empty()) {
    symbols.emplace_back(rest.substr(0, utf8_length(rest.front())));
    rest.remove_prefix(symbols.back().size());
    vocab[symbols.back()] = 258 + symbols.size();
  }
  const Json merges = add_pairs(symbols, 259 + static_cast<int>(symbols.size()), &vocab);
  return {{"type", "BPE"},
          {"vocab", vocab},
          {"merges", merges},
          {"unk_token", step_case.value("unk", Json("<unk>"))},
          {"fuse_unk", step_case.value("fuse", true)},
          {"byte_fallback", !step_case.value("unk_only", false)}};
}

inline Json step_document(const Json& step_case) {
  const bool bytes = step_case["model"] == "bytes";
  Json document = {
      {"added_tokens", step_case.value("added_tokens", Json::array())},
      {"model", bytes ? step_bytes_model(step_case) : step_characters_model(step_case)}};
  if (bytes) document["decoder"] = {{"type", "ByteLevel"}};
  for (const char* field : {"normalizer", "pre_tokenizer", "post_processor"}) {
    document[field] = step_case.value(field, Json());
  }
  return document;
}

// The model of a case as a GGUF file.
inline GgufWriter gguf_of_case(const Json& word_case, const std::string& name) {
  const Json document = step_document(word_case);
  const Json& model = document["model"];
  std::vector<std::string> texts(model["vocab"].size());
  for (const auto& [text, id] : model["vocab"].items()) texts[id.get<size_t>()] = text;
  std::vector<int32_t> types(texts.size(), 1);
  for (size_t id = 0; id < texts.size(); ++id) {
    if (byte_of_token_text(texts[id])) types[id] = 6;
  }
  std::vector<std::string> merges;
  for (const Json& merge : model["merges"]) {
    merges.push_back(merge[0].get<std::string>() + " " + merge[1].get<std::string>());
  }
  GgufWriter writer;
  writer.string("tokenizer.ggml.model", "gpt2")
      .string("tokenizer.ggml.pre", name)
      .strings("tokenizer.ggml.tokens", texts)
      .numbers("tokenizer.ggml.token_type", GgufType::kInt32, types)
      .strings("tokenizer.ggml.merges", merges);
  return writer;
}

}  // namespace pando::testing
