// Prompt form of a reranker, from the sentence-transformers files that it carries.
#pragma once

#include <optional>
#include <string>

#include "base/model_path.h"
#include "pando/values/result.h"
#include "pando/values/token.h"

namespace pando::model {

struct RerankForm {
  std::string instruction;  // empty: the files do not say
  // The answers for a relevant document and for any other; absent: the files do not say.
  std::optional<Token> yes = std::nullopt, no = std::nullopt;
  int max_tokens = 0;        // as in EmbeddingForm
  bool has_modules = false;  // the same
};

// Reads the form from a model's directory; empty for a GGUF file. kUnsupported for a score that is
// not made of two tokens, for other modules, and for lower-case texts.
Result<RerankForm> read_rerank_form(const ModelPath& path);

}  // namespace pando::model
