// The tokenizer.json of one line of data/steps.jsonl: its steps around a model in which many pairs
// of symbols merge. The same as in tools/tokenizer_steps_golden.py; change both together.
#pragma once

#include "text/bpe.h"
#include "text/utf8.h"
#include "text_testing.h"

namespace pando::testing {

inline const std::string kStepsData = PANDO_SOURCE_DIR "/tests/text/data/";

inline std::vector<Json> read_step_cases() {
  std::vector<Json> cases;
  std::ifstream file(kStepsData + "steps.jsonl");
  for (std::string line; std::getline(file, line);) cases.push_back(Json::parse(line));
  return cases;
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

inline Json step_bytes_model() {
  Json vocab = byte_vocab();
  std::vector<std::string> symbols;
  for (int byte = 0; byte < 256; ++byte) {
    symbols.push_back(byte_level_character(static_cast<unsigned char>(byte)));
  }
  const Json merges = add_pairs(symbols, 256, &vocab);
  return {{"type", "BPE"}, {"vocab", vocab}, {"merges", merges}};
}

inline Json step_characters_model(bool unknown_only) {
  Json vocab = {{"<unk>", 0}, {"<s>", 1}, {"</s>", 2}};
  for (int byte = 0; byte < 256; ++byte) {
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
  return {{"type", "BPE"},        {"vocab", vocab},   {"merges", merges},
          {"unk_token", "<unk>"}, {"fuse_unk", true}, {"byte_fallback", !unknown_only}};
}

inline Json step_document(const Json& step_case) {
  const bool bytes = step_case["model"] == "bytes";
  Json document = {{"added_tokens", step_case.value("added_tokens", Json::array())},
                   {"model", bytes ? step_bytes_model()
                                   : step_characters_model(step_case.value("unk_only", false))}};
  if (bytes) document["decoder"] = {{"type", "ByteLevel"}};
  for (const char* field : {"normalizer", "pre_tokenizer", "post_processor"}) {
    document[field] = step_case.value(field, Json());
  }
  return document;
}

}  // namespace pando::testing
