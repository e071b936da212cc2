// Errors as the API tells them.
#pragma once

#include <string>

#include "base/json.h"
#include "pando/values/result.h"

namespace pando::ask {

// An HTTP status, and the fields of the error object.
struct HttpError {
  int status = 500;
  std::string type, code, message;
  std::string param = {};  // the field to blame; empty: none, or several
  size_t n_events = 0;     // of a stream: sent before it
};

// One table, from ErrorCode to status, type and code.
HttpError http_error(const Error& error);
// Refuses a body without a field that it must have.
Error missing_field(const char* field);
// Reports a request that is given up before it is asked.
Error given_up();
// Form of an API's errors: in an answer's body, and in the last events of a stream.
struct ErrorForm {
  Json (*body)(const HttpError&);
  std::string (*last_events)(const HttpError&);
};
// {"error": {"message", "type", "param", "code"}}
extern const ErrorForm kOpenAiErrors;
// {"type": "error", "error": {"type", "message", "param"?}}
extern const ErrorForm kAnthropicErrors;

}  // namespace pando::ask
