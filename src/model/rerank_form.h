// How a reranker is asked, by the files that it carries: those of the library
// sentence-transformers.
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

// Of a model's directory; a GGUF file says nothing. kUnsupported for a score that is not made of
// two tokens, other modules, and texts in lower case.
Result<RerankForm> read_rerank_form(const ModelPath& path);

}  // namespace pando::model
