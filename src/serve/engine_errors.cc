#include "serve/engine_errors.h"

#include <fmt/format.h>

#include <utility>

#include "api/model_access.h"
#include "base/errors.h"

namespace pando::serve {

ask::HttpError http_error(const Service& service, const Error& error) {
  constexpr std::string_view kKnown = "this model's maximum context length is ";
  if (error.code != ErrorCode::kTooLong || error.found.find(kKnown) != std::string::npos)
    return ask::http_error(error);
  Error told = error;
  told.expected = fmt::format("fewer; {}{} tokens here", kKnown, service.longest());
  return ask::http_error(told);
}

Error for_clients(const Service& service, std::string_view path, const Error& error) {
  const auto& chat = chat_template_of(service.engine.model());
  if (chat || error.code != chat.error().code || error.message() != chat.error().message())
    return error;
  const auto [field, hint] =
      path == "/v1/answers"
          ? std::pair{"chat", "without 'chat' the prompt is made from the template"}
      : path == "/v1/responses" ? std::pair{"input", "/v1/completions takes a plain prompt"}
      : path == "/tokenize"     ? std::pair{"messages", "'prompt' takes plain text"}
                                : std::pair{"messages", "/v1/completions takes a plain prompt"};
  return blame(
      field, unsupported("the model '{}' has no chat template that this server can use (hint: {})",
                         service.options.model_names.front(), hint));
}

}  // namespace pando::serve
