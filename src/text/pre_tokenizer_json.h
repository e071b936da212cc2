// "pre_tokenizer" of a tokenizer.json.
#pragma once

#include "text/json_file.h"
#include "text/pre_tokenizer.h"

namespace pando {

struct PreTokenizerField {
  PreTokenizer steps;
  bool byte_level = false;
};
Result<PreTokenizerField> read_pre_tokenizer(const JsonPlace& place);

}  // namespace pando
