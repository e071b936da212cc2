// The tokenizer.json that stands for a Llama 2 vocabulary.
#pragma once

#include "text/bpe.h"
#include "text_testing.h"

namespace pando::testing {

inline constexpr Token kBytes = 3;       // <0x00>, after <unk>, <s>, </s>
inline constexpr Token kMore = 3 + 256;  // first token after the bytes
inline const char* const kMark = "\u2581";

// The tokenizer.json of Llama 2 with `more` tokens after the bytes.
inline Json llama_json(const std::vector<std::string>& more, const Json& merges) {
  Json vocab = {{"<unk>", 0}, {"<s>", 1}, {"</s>", 2}};
  for (int byte = 0; byte < 256; ++byte) {
    vocab[byte_token_text(static_cast<unsigned char>(byte))] = kBytes + byte;
  }
  int next = kMore;
  for (const std::string& text : more) vocab[text] = next++;
  const Json prepend = {{"type", "Prepend"}, {"prepend", kMark}};
  const Json replace = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kMark}};
  const Json back = {{"type", "Replace"}, {"pattern", {{"String", kMark}}}, {"content", " "}};
  const Json strip = {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}};
  const Json bos = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
  const Json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  return {
      {"added_tokens",
       Json::array({added_token(0, "<unk>"), added_token(1, "<s>"), added_token(2, "</s>")})},
      {"normalizer", {{"type", "Sequence"}, {"normalizers", Json::array({prepend, replace})}}},
      {"pre_tokenizer", nullptr},
      {"post_processor", {{"type", "TemplateProcessing"}, {"single", Json::array({bos, text})}}},
      {"decoder",
       {{"type", "Sequence"},
        {"decoders", Json::array({back, {{"type", "ByteFallback"}}, {{"type", "Fuse"}}, strip})}}},
      {"model",
       {{"type", "BPE"},
        {"unk_token", "<unk>"},
        {"fuse_unk", true},
        {"byte_fallback", true},
        {"vocab", vocab},
        {"merges", merges}}}};
}

}  // namespace pando::testing
