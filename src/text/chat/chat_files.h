// Finds the chat templates and the texts of special tokens in the files of a model.
#pragma once

#include <string>
#include <vector>

#include "base/model_path.h"
#include "text/chat/chat_template.h"

namespace pando {

struct TemplateText {
  std::string name;
  std::string text;
  std::string source;  // "'FILE'", for messages
};

// All templates of a directory, of a GGUF file, or of the directory of a tokenizer's file; each
// name once. May be empty.
Result<std::vector<TemplateText>> find_chat_templates(const ModelPath& tokenizer);
// Texts of the special tokens, as `transformers` gives them to a template.
Result<NamedTokens> find_named_tokens(const ModelPath& of_tokenizer, const Tokenizer& tokenizer);

}  // namespace pando
