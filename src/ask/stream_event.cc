#include "ask/stream_event.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace pando::ask {

std::string stream_event(const Json& data) { return "data: " + json_text(data) + "\n\n"; }

std::string tokens_comment(size_t request, size_t choice, std::span<const Token> tokens) {
  constexpr Token kNone[] = {0};
  if (tokens.empty()) tokens = kNone;
  return fmt::format(": tokens {} {} {}\n\n", request, choice, fmt::join(tokens, " "));
}

std::string named_event(const Json& data) {
  return "event: " + data["type"].get<std::string>() + "\n" + stream_event(data);
}

}  // namespace pando::ask
