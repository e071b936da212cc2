#include "bench/peer.h"

#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/errors.h"

namespace pando::bench {
namespace {

Result<std::string> filled_in(const std::string& command,
                              const std::map<std::string, std::string>& values) {
  constexpr const char* kLetters = "abcdefghijklmnopqrstuvwxyz";
  std::string text;
  for (size_t at = 0; at < command.size(); ++at) {
    const size_t end =
        command[at] == '{' ? command.find_first_not_of(kLetters, at + 1) : std::string::npos;
    if (end == std::string::npos || end == at + 1 || command[end] != '}') {
      text += command[at];
      continue;
    }
    const std::string name = command.substr(at + 1, end - at - 1);
    if (at > 0 && command[at - 1] == '{' && command.compare(end, 2, "}}") == 0) {
      text += name + "}";  // behind the first of two braces
      at = end + 1;
      continue;
    }
    const auto value = values.find(name);
    if (value == values.end()) {
      std::string names;
      for (const auto& known : values) names += fmt::format(" {{{}}}", known.first);
      return invalid_argument("--peer has '{{{}}}', expected of{}", name, names);
    }
    text += value->second;
    at = end;
  }
  return text;
}

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_blank(const std::string& line) { return std::ranges::all_of(line, is_space); }

}  // namespace

Result<double> run_peer(const std::string& command,
                        const std::map<std::string, std::string>& values) {
  if (is_blank(command)) return invalid_argument("the command is empty, expected one of a shell");
  Result<std::string> text = filled_in(command, values);
  if (!text) return text.error();
  FILE* pipe = popen(fmt::format("{{ {}\n}} 2>&1", *text).c_str(), "r");
  if (pipe == nullptr) return make_error(ErrorCode::kUnavailable, "cannot start '{}'", *text);
  std::string last, line;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
    if (c != '\n') {
      line += static_cast<char>(c);
      continue;
    }
    if (!is_blank(line)) last = line;
    line.clear();
  }
  if (!is_blank(line)) last = line;
  const int status = pclose(pipe);
  if (status != 0)
    return make_error(ErrorCode::kUnavailable, "'{}' ended with status {}; {}", *text,
                      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
                      last.empty() ? "it printed nothing" : "its last line: " + last);
  while (!last.empty() && is_space(last.back())) last.pop_back();
  char* end = nullptr;
  const double value = std::strtod(last.c_str(), &end);
  if (end == last.c_str() || *end != '\0' || !std::isfinite(value) || value <= 0)
    return make_error(ErrorCode::kUnavailable,
                      "the last line of '{}' is '{}', expected a number above 0: tokens per second",
                      *text, last);
  return value;
}

}  // namespace pando::bench
