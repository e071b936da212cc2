// Recipe of a model's embeddings, from the files of embedding models: modules.json and the files it
// names (sentence-transformers), or a key of a GGUF file.
#pragma once

#include <map>
#include <string>

#include "base/model_path.h"
#include "pando/values/request.h"
#include "pando/values/result.h"

namespace pando::model {

struct EmbeddingForm {
  Pooling pooling = Pooling::kNone;                 // kNone: the files do not say
  bool normalise = true;                            // vectors are scaled to length 1
  std::string prompt;                               // put before each text; may be empty
  std::map<std::string, std::string> prompts = {};  // that files have by name: "query", "document"
  bool include_prompt = true;                       // the mean includes the prompt's tokens
  // Texts with more tokens are cut. The limit counts the prompt, and the tokens that the tokenizer
  // puts around a text. 0: not given; with has_modules, the
  // tokenizer's files and the model's length then limit texts.
  int max_tokens = 0;
  bool has_modules = false;  // there is a modules.json
  int dimension = 0;         // of the pooled rows; 0: not given
};

// Reads the form from a model's directory or GGUF file. kUnsupported, with file and field, for
// other poolings or modules and for lower-case texts.
Result<EmbeddingForm> read_embedding_form(const ModelPath& path);

}  // namespace pando::model
