#include "text/token_spans.h"

#include <algorithm>
#include <map>

#include "text/bpe.h"
#include "text/characters.h"
#include "text/utf8.h"

namespace pando {
namespace {

// A text in its normal form; each byte knows the character that it comes from.
struct NormalText {
  std::string text;
  std::vector<size_t> begins, ends;  // [bytes] of the character in the text as written
};

NormalText normal_text(std::string_view text, const SpanRules& rules) {
  NormalText normal;
  std::map<std::string, std::string, std::less<>> known;
  for (size_t at = 0; at < text.size();) {
    const std::string_view character = text.substr(at, utf8_length(text[at]));
    auto found = known.find(character);
    if (found == known.end()) {
      std::string form = rules.normalise(character);
      if (form == kSpaceMark) form = " ";
      found = known.emplace(std::string(character), std::move(form)).first;
    }
    normal.text += found->second;
    normal.begins.resize(normal.text.size(), at);
    at += character.size();
    normal.ends.resize(normal.text.size(), at);
  }
  return normal;
}

std::string_view without_spaces(std::string_view piece) {
  while (piece.starts_with(' ')) piece.remove_prefix(1);
  while (piece.ends_with(' ')) piece.remove_suffix(1);
  return piece;
}

class SpanFinder {
 public:
  SpanFinder(std::string_view written, std::span<const TokenPiece> pieces, const SpanRules& rules)
      : written_(written), pieces_(pieces), rules_(rules), normal_(normal_text(written, rules)) {}

  std::vector<TokenSpan> find() {
    std::vector<TokenSpan> spans;
    for (size_t i = 0; i < pieces_.size(); ++i) spans.push_back(next(i));
    return spans;
  }

 private:
  size_t space_length() const {
    if (at_ >= normal_.text.size()) return 0;
    const Utf8Step step = next_utf8(std::string_view(normal_.text).substr(at_));
    return is_space(step.point) ? static_cast<size_t>(step.length) : 0;
  }

  TokenSpan next(size_t i) {
    const std::string_view piece = without_spaces(pieces_[i].text);
    if (!is_inside_character())
      while (const size_t n = space_length()) at_ += n;
    if (piece.empty())  // a space mark by itself stands for the character after it
      return {begin(at_), at_ < normal_.ends.size() ? normal_.ends[at_] : begin(at_), false};
    const bool known = std::string_view(normal_.text).substr(at_).starts_with(piece);
    const size_t n = known ? piece.size() : unknown_length(i);
    TokenSpan span{begin(at_), n == 0 ? begin(at_) : normal_.ends[at_ + n - 1], false};
    at_ += n;
    if (known) span.goes_on = goes_on(i, piece, span);
    return span;
  }

  // The place is between the bytes of a character, which several tokens make.
  bool is_inside_character() const {
    return at_ > 0 && at_ < normal_.text.size() && !begins_character(normal_.text[at_]);
  }

  size_t begin(size_t at) const {
    return at < normal_.begins.size() ? normal_.begins[at] : written_.size();
  }

  // Up to a space, or to the text of the next token.
  size_t unknown_length(size_t i) const {
    const std::string_view rest = std::string_view(normal_.text).substr(at_);
    size_t n = 0;
    while (n < rest.size()) {
      const Utf8Step step = next_utf8(rest.substr(n));
      if (is_space(step.point)) break;
      const std::string_view next =
          i + 1 < pieces_.size() ? without_spaces(pieces_[i + 1].text) : std::string_view();
      if (n > 0 && !next.empty() && rest.substr(n).starts_with(next)) break;
      n += static_cast<size_t>(step.length);
    }
    return n;
  }

  bool goes_on(size_t i, std::string_view piece, const TokenSpan& span) const {
    const std::string_view own = written_.substr(span.begin, span.end - span.begin);
    if (rules_.marks_words) {
      // As in the transformers library, which compares the lengths of a token and of its text.
      const auto length = [](std::string_view text) {
        return std::count_if(text.begin(), text.end(), begins_character);
      };
      return pieces_[i].inside_word || length(piece) != length(own);
    }
    return span.begin > 0 && written_[span.begin - 1] != ' ' && !own.starts_with(' ');
  }

  std::string_view written_;
  std::span<const TokenPiece> pieces_;
  const SpanRules& rules_;
  const NormalText normal_;
  size_t at_ = 0;  // in the normal form
};

}  // namespace

std::vector<TokenSpan> find_token_spans(std::string_view text, std::span<const TokenPiece> pieces,
                                        const SpanRules& rules) {
  return SpanFinder(text, pieces, rules).find();
}

}  // namespace pando
