#include "base/option_names.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

namespace pando {
namespace {

// Of an engine, and options of commands too.
constexpr std::string_view kNames[] = {"kv_memory", "step_rows", "place_every", "max_running"};
// Options too, but only at the start of a message: "threads is 2000, ...".
constexpr std::string_view kFirstWords[] = {"context is ",   "threads is ", "parallel is ",
                                            "parallel has ", "window is ",  "stride is "};

bool is_of_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Where the text that a quote begins here ends, behind its last quote; `at` where none does. An
// apostrophe inside a word begins none.
size_t end_of_quoted(std::string_view message, size_t at) {
  const char quote = message[at];
  if ((quote != '\'' && quote != '"') || (at > 0 && is_of_word(message[at - 1]))) return at;
  for (size_t end = at + 1; end < message.size(); ++end)
    if (message[end] == quote && (end + 1 == message.size() || !is_of_word(message[end + 1])))
      return end + 1;
  return at;
}

}  // namespace

std::string with_dashes(std::string_view message, std::string_view whose) {
  std::string out;
  if (std::ranges::any_of(kFirstWords,
                          [&](std::string_view words) { return message.starts_with(words); }))
    out.append(whose).append("--");
  for (size_t at = 0; at < message.size();) {
    if (const size_t end = end_of_quoted(message, at); end > at) {
      out.append(message.substr(at, end - at));
      at = end;
      continue;
    }
    const bool begins = at == 0 || (!is_of_word(message[at - 1]) &&
                                    std::string_view("-./").find(message[at - 1]) == message.npos);
    const auto name = std::ranges::find_if(kNames, [&](std::string_view one) {
      const size_t end = at + one.size();
      return begins && message.substr(at).starts_with(one) &&
             (end == message.size() || !is_of_word(message[end]));
    });
    if (name == std::end(kNames)) {
      out += message[at++];
      continue;
    }
    out.append(whose).append("--").append(*name);
    std::replace(out.end() - static_cast<std::ptrdiff_t>(name->size()), out.end(), '_', '-');
    at += name->size();
  }
  return out;
}

}  // namespace pando
