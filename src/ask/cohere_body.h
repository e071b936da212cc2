// The form of errors of Cohere's API.
#pragma once

#include "ask/errors.h"

namespace pando::ask {

// {"message"}; a stream ends with "message-end", whose reason is "ERROR".
extern const ErrorForm kCohereErrors;

}  // namespace pando::ask
