// Fill-in-the-middle: prompts that ask a model of code for the text in a gap.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pando/values/result.h"
#include "pando/values/token.h"
#include "text/tokenizer.h"

namespace pando {

// Texts of the special tokens between the parts of such a prompt.
struct FimTokens {
  std::string_view before, behind;  // stand before the text before the gap, and that behind it
  std::string_view middle;          // ends the prompt; may be empty
  bool behind_first = false;        // the text behind the gap comes first
};

struct FimForm {
  FimTokens tokens;
  std::string_view file = {};    // stands before the name of a file; empty: there is none
  std::vector<Token> ends = {};  // end an answer, besides the model's own
};

// The form whose tokens the vocabulary has. kUnsupported if it has none.
Result<FimForm> fim_form_of(const Tokenizer& tokenizer);

// The prompt for the text between `before` and `behind`.
std::string fim_prompt(const FimForm& form, std::string_view before, std::string_view behind);
// A part of another file, to stand before such a prompt.
std::string fim_file(const FimForm& form, std::string_view name, std::string_view text);

}  // namespace pando
