// The form of errors of text-generation-inference.
#pragma once

#include "ask/errors.h"

namespace pando::ask {

// {"error", "error_type"}, in a stream as the data of its last event.
extern const ErrorForm kTgiErrors;

}  // namespace pando::ask
