// Recipe of a model's embeddings, from the files of embedding models: modules.json and the files it
// names (sentence-transformers), or a key of a GGUF file.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/model_path.h"
#include "model/vector_steps.h"
#include "pando/values/request.h"
#include "pando/values/result.h"

namespace pando::model {

struct EmbeddingForm {
  Pooling pooling = Pooling::kNone;  // kNone: the files do not say; kRows: `joined`
  std::vector<Pooling> joined = {};  // poolings whose vectors are joined in this order
  // Steps on the pooled vector, before it is scaled; null: none.
  std::shared_ptr<const VectorSteps> steps = nullptr;
  // On the hidden state of each token: vectors of tokens and, one value each, weights of tokens, as
  // bge-m3 has them in colbert_linear.pt and sparse_linear.pt; null: none. Vectors of tokens leave
  // out the first token then.
  std::shared_ptr<const VectorSteps> token_steps = nullptr, weight_steps = nullptr;
  bool normalise = true;                            // vectors are scaled to length 1
  std::string prompt;                               // put before each text; may be empty
  std::map<std::string, std::string> prompts = {};  // that files have by name: "query", "document"
  bool include_prompt = true;                       // the prompt's tokens are pooled too
  // Texts with more tokens are cut. The limit counts the prompt, and the tokens that the tokenizer
  // puts around a text. 0: not given; with has_modules, the
  // tokenizer's files and the model's length then limit texts.
  int max_tokens = 0;
  bool has_modules = false;  // there is a modules.json
  int dimension = 0;         // of the pooled rows; 0: not given
  int kept_dimensions = 0;   // first values of a vector that are kept; 0: all
};

// Reads the form from a model's directory or GGUF file, with the weights of its modules.
// kUnsupported, with file and field, for other modules and for lower-case texts.
Result<EmbeddingForm> read_embedding_form(const ModelPath& path);

}  // namespace pando::model
