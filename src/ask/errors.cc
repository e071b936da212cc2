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

const char* anthropic_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    case 504:
      return "timeout_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}

Json anthropic_body(const HttpError& error) {
  Json told = {{"type", anthropic_type(error.status)}, {"message", error.message}};
  if (!error.param.empty()) told["param"] = error.param;
  if (error.param == "thread")  // Anthropic's client then sends whole conversations
    told["details"] = {{"error_code", "thread_unsupported_request"},
                       {"unsupported", Json::array({"thread"})}};
  return {{"type", "error"}, {"error", std::move(told)}};
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

const ErrorForm kAnthropicErrors = {
    .body = anthropic_body,
    .last_events = [](const HttpError& error) { return named_event(anthropic_body(error)); }};

}  // namespace pando::ask
