// Answers of POST /v1/responses.
#pragma once

#include "ask/errors.h"

namespace pando::ask {

// As kOpenAiErrors. In a stream: "event: error", with the fields of the error next to its type.
extern const ErrorForm kResponsesErrors;

}  // namespace pando::ask
