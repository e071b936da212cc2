// The steps that a tokenizer.json states around its model, read one field each.
#pragma once

#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/special_tokens.h"

namespace pando {

Result<Normalizer> read_normalizer(const JsonPlace& place);

struct PreTokenizerField {
  PreTokenizer steps;
  bool byte_level = false;
};
Result<PreTokenizerField> read_pre_tokenizer(const JsonPlace& place);

// How tokens become text.
struct Decoder {
  bool byte_level = false;
  bool byte_fallback = false;
  std::string space_mark;  // stands for a space; empty for none
  bool strips_leading_space = false;
};
Result<Decoder> read_decoder(const JsonPlace& place);

// The token that is put before a text, or nothing.
Result<std::optional<Token>> read_post_processor(const JsonPlace& place, const Vocab& vocab);

}  // namespace pando
