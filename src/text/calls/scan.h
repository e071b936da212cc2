// Reading of text that is still coming in. A reading says that it is done, that it needs more text,
// or that the text is something else. More text never changes what was done or broken, so an answer
// is read alike however it is cut.
#pragma once

#include <string>
#include <string_view>

namespace pando::calls {

enum class Read { kDone, kMore, kBroken };

inline bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
std::string_view trimmed(std::string_view text);
inline bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \n\t\r") == text.npos;
}
std::string_view trimmed_left(std::string_view text);
std::string_view trimmed_right(std::string_view text);

struct Scan {
  std::string_view text;
  size_t at = 0;
  bool is_final = false;  // no more text comes

  bool at_end() const { return at >= text.size(); }
  char next() const { return text[at]; }  // not at the end
  std::string_view rest() const { return text.substr(at); }
  // Answer of a reading that came to the end of the text.
  Read ended() const { return is_final ? Read::kBroken : Read::kMore; }

  void skip_space() {
    while (!at_end() && is_space(next())) ++at;
  }
  // Takes a literal behind any white space. White space of the literal matches any, and none.
  Read take(std::string_view literal);
  // Takes the character behind any white space.
  Read take(char c);
  // Finds a literal and takes the text before it, and itself.
  Read take_until(std::string_view literal, std::string_view& before);
};

// Length of the longest end of `text` that begins `literal`, without being all of it.
size_t begun_at_end(std::string_view text, std::string_view literal);

}  // namespace pando::calls
