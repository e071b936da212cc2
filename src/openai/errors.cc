#include "openai/errors.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace pando::openai {
namespace {

using Json = nlohmann::ordered_json;

// Those that the engine checks, which names them without quotes.
constexpr std::string_view kEngineFields[] = {"temperature",
                                              "top_k",
                                              "top_p",
                                              "min_p",
                                              "n",
                                              "max_tokens",
                                              "top_logprobs",
                                              "logit_bias",
                                              "repetition_penalty",
                                              "presence_penalty",
                                              "frequency_penalty",
                                              "deadline_class"};

std::string blamed_field(std::string_view message) {
  for (const std::string_view before :
       {"field '", "unknown field '", "unknown or unsupported field '", "the body has no '"})
    if (message.starts_with(before)) {
      message.remove_prefix(before.size());
      return std::string(message.substr(0, message.find('\'')));
    }
  const std::string_view word = message.substr(0, message.find(' '));
  const bool known = std::find(std::begin(kEngineFields), std::end(kEngineFields), word) !=
                     std::end(kEngineFields);
  return known ? std::string(word) : std::string();
}

WireError without_field(const Error& error) {
  const char* code = error_code_name(error.code);
  switch (error.code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kUnsupported:
      return {400, "invalid_request_error", code, error.message};
    case ErrorCode::kTooLong:
      return {400, "invalid_request_error", "context_length_exceeded", error.message};
    case ErrorCode::kNotFound:
      return {404, "invalid_request_error", code, error.message};
    case ErrorCode::kUnavailable:
      return {429, "rate_limit_error", "queue_full", error.message};
    case ErrorCode::kBadFile:
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      break;
  }
  return {500, "server_error", code, error.message};
}

}  // namespace

WireError wire_error(const Error& error) {
  WireError wire = without_field(error);
  if (wire.status == 400) wire.param = blamed_field(error.message);
  return wire;
}

nlohmann::ordered_json error_body(const WireError& error) {
  return {{"error",
           {{"message", error.message},
            {"type", error.type},
            {"param", error.param.empty() ? Json(nullptr) : Json(error.param)},
            {"code", error.code}}}};
}

std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace pando::openai
