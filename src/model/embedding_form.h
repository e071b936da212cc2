// How a model's embeddings are made, by the files that embedding models carry: those of the library
// sentence-transformers (modules.json and what it names), or a key of a GGUF file.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "pando/request.h"
#include "pando/result.h"

namespace pando::model {

struct EmbeddingForm {
  Pooling pooling = Pooling::kNone;                 // kNone: the files do not say
  bool normalise = true;                            // vectors are scaled to length 1
  std::string prompt;                               // put before each text; may be empty
  std::map<std::string, std::string> prompts = {};  // that files have by name: "query", "document"
  bool include_prompt = true;                       // the mean is over the prompt's tokens too
  // Texts with more tokens are cut, counting the prompt's and those that the tokenizer puts around.
  // 0: not said; then, with has_modules, what the tokenizer's files and the model's length say.
  int max_tokens = 0;
  bool has_modules = false;  // there is a modules.json
  int dimension = 0;         // of the rows that are pooled; 0: the files do not say
};

// Of a model's directory or GGUF file. kUnsupported, with file and field, for what is not offered:
// other poolings and modules, texts in lower case.
Result<EmbeddingForm> read_embedding_form(const std::filesystem::path& path);

}  // namespace pando::model
