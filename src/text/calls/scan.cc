#include "text/calls/scan.h"

#include <algorithm>

namespace pando::calls {

std::string_view trimmed_left(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return text;
}

std::string_view trimmed_right(std::string_view text) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view trimmed(std::string_view text) { return trimmed_left(trimmed_right(text)); }

Read Scan::take(std::string_view literal) {
  literal = trimmed(literal);
  if (literal.empty()) return Read::kDone;
  size_t found = at;
  const auto skip = [&] {
    while (found < text.size() && is_space(text[found])) ++found;
  };
  skip();
  for (size_t i = 0; i < literal.size();) {
    if (is_space(literal[i])) {
      while (is_space(literal[i])) ++i;
      skip();
      continue;
    }
    if (found == text.size()) return ended();
    if (text[found++] != literal[i++]) return Read::kBroken;
  }
  at = found;
  return Read::kDone;
}

Read Scan::take(char c) { return take(std::string_view(&c, 1)); }

Read Scan::take_until(std::string_view literal, std::string_view& before) {
  const size_t found = text.find(literal, at);
  if (found == text.npos) return ended();
  before = text.substr(at, found - at);
  at = found + literal.size();
  return Read::kDone;
}

size_t begun_at_end(std::string_view text, std::string_view literal) {
  if (literal.empty()) return 0;
  for (size_t n = std::min(text.size(), literal.size() - 1); n > 0; --n)
    if (text.substr(text.size() - n) == literal.substr(0, n)) return n;
  return 0;
}

}  // namespace pando::calls
