// The field "decoder" of a tokenizer.json.
#pragma once

#include <string>
#include <vector>

#include "text/decoder_run.h"
#include "text/tokenizer_steps.h"

namespace pando {

struct Decoder {
  bool spaced = false;      // there are no steps; a space between two tokens
  bool byte_level = false;  // the texts of tokens are bytes, in the byte-level alphabet
  std::vector<DecoderStep> steps;
  // No token changes the text of another, except for a space at the start of a text.
  bool by_token = true;
  bool strips_leading_space = false;  // only if by_token
  std::vector<std::string> changed;   // see Decoding
};
Result<Decoder> read_decoder(const JsonPlace& place);

}  // namespace pando
