#include "text/calls/atoms.h"

#include <algorithm>

#include "text/calls/scan.h"

namespace pando::calls {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Length of a mark at the beginning of the text; 0 if there is none.
size_t mark_length(std::string_view text) {
  if (text.front() == '<') {
    const size_t end = text.find_first_of("<> \n\t\"'{", 1);
    return end != text.npos && text[end] == '>' ? end + 1 : 0;
  }
  if (text.front() != '[') return 0;
  const size_t end = text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_/", 1);
  return end != text.npos && end > 1 && text[end] == ']' ? end + 1 : 0;
}

}  // namespace

std::vector<std::string_view> atoms_of(std::string_view text) {
  std::vector<std::string_view> atoms;
  while (!text.empty()) {
    size_t length = mark_length(text);
    while (length == 0 || (length < text.size() && is_word(text[0]) && is_word(text[length])))
      ++length;
    atoms.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return atoms;
}

std::string_view common_begin(std::string_view a, std::string_view b) {
  const std::vector<std::string_view> in_a = atoms_of(a), in_b = atoms_of(b);
  size_t length = 0;
  for (size_t i = 0; i < std::min(in_a.size(), in_b.size()) && in_a[i] == in_b[i]; ++i)
    length += in_a[i].size();
  return a.substr(0, length);
}

std::string_view common_end(std::string_view a, std::string_view b) {
  const std::vector<std::string_view> in_a = atoms_of(a), in_b = atoms_of(b);
  size_t length = 0;
  for (size_t i = 1; i <= std::min(in_a.size(), in_b.size()); ++i) {
    const std::string_view atom = in_a[in_a.size() - i];
    if (atom != in_b[in_b.size() - i]) break;
    length += atom.size();
  }
  return a.substr(a.size() - length);
}

}  // namespace pando::calls
