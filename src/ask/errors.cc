#include "ask/errors.h"

#include "ask/stream_event.h"
#include "base/errors.h"
#include "base/json.h"

namespace pando::ask {
namespace {

HttpError without_field(const Error& error) {
  const char* code = error_code_name(error.code);
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kUnsupported:
      return {400, "invalid_request_error", code, error.message()};
    case ErrorCode::kTooLong:
      return {400, "invalid_request_error", "context_length_exceeded", error.message()};
    case ErrorCode::kNotFound:
      return {404, "invalid_request_error", code, error.message()};
    case ErrorCode::kUnavailable:
      return {429, "rate_limit_error", "queue_full", error.message()};
    case ErrorCode::kBadFile:
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      break;
  }
  return {500, "server_error", code, error.message()};
}

Json openai_body(const HttpError& error) {
  return {{"error",
           {{"message", error.message},
            {"type", error.type},
            {"param", error.param.empty() ? Json(nullptr) : Json(error.param)},
            {"code", error.code}}}};
}

}  // namespace

HttpError http_error(const Error& error) {
  HttpError told = without_field(error);
  told.param = error.place.field;
  return told;
}

Error missing_field(const char* field) {
  return blame(field, invalid_argument("the body has no '{}'", field));
}

Error given_up() { return make_error(ErrorCode::kUnavailable, "the client has disconnected"); }

const ErrorForm kOpenAiErrors = {.body = openai_body, .last_events = [](const HttpError& error) {
                                   return stream_event(openai_body(error)).append(kStreamEnd);
                                 }};

}  // namespace pando::ask
