// The form of errors of text-embeddings-inference.
#pragma once

#include "ask/errors.h"

namespace pando::ask {

// {"error", "error_type"}
extern const ErrorForm kTeiErrors;

}  // namespace pando::ask
