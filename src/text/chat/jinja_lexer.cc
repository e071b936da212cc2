#include "text/chat/jinja_lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "text/characters.h"
#include "text/chat/jinja_text.h"
#include "text/chat/jinja_value.h"
#include "text/utf8.h"

namespace pando::jinja {
namespace {

constexpr const char* kOperators[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                      "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                      ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }

// Every line end is \n, and one at the end is not there.
std::string with_unix_line_ends(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && text.substr(i + 1).starts_with('\n')) continue;
    out += text[i] == '\r' ? '\n' : text[i];
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : source_(with_unix_line_ends(text)), rest_(source_) {}

  std::vector<Lexeme> run() {
    while (!rest_.empty()) read_data();
    add(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, line_, std::move(text)}); }

  void advance(size_t n) {
    line_ += static_cast<int>(std::count(rest_.begin(), rest_.begin() + n, '\n'));
    at_line_start_ = n > 0 && rest_[n - 1] == '\n';
    rest_.remove_prefix(n);
  }
  void skip_space() {
    size_t n = 0;
    while (n < rest_.size() && space_at(n)) n += utf8_length(rest_[n]);
    if (n > 0) advance(n);
  }
  bool space_at(size_t at) const { return is_python_space(next_utf8(rest_.substr(at)).point); }
  size_t after_space(size_t at) const {
    while (at < rest_.size() && space_at(at)) at += utf8_length(rest_[at]);
    return at;
  }

  // The text up to the next tag, and the tag.
  void read_data() {
    size_t at = rest_.find('{');
    while (at != rest_.npos &&
           (at + 1 >= rest_.size() ||
            (rest_[at + 1] != '{' && rest_[at + 1] != '%' && rest_[at + 1] != '#')))
      at = rest_.find('{', at + 1);
    if (at == rest_.npos) {
      add(TokenKind::kData, std::string(rest_));
      advance(rest_.size());
      return;
    }
    const char tag = rest_[at + 1];
    const char sign = at + 2 < rest_.size() ? rest_[at + 2] : '\0';
    add_data(rest_.substr(0, at), sign, tag == '{');
    advance(at);
    const size_t signed_length = sign == '-' || sign == '+' ? 3 : 2;
    if (tag == '#') {
      read_comment(signed_length);
    } else if (tag == '{') {
      add(TokenKind::kVariableBegin, "");
      advance(signed_length);
      read_tag(/*block=*/false);
    } else if (const size_t raw = raw_length(signed_length); raw > 0) {
      advance(raw);
      read_raw();
    } else {
      add(TokenKind::kBlockBegin, "");
      advance(signed_length);
      read_tag(/*block=*/true);
    }
  }

  // Adds the text before a tag, trimmed as the tag's sign and lstrip_blocks ask.
  void add_data(std::string_view text, char sign, bool before_variable) {
    if (sign == '-') {
      text = strip_space(text, Side::kRight);
    } else if (sign != '+' && !before_variable) {
      const size_t line_begin = text.rfind('\n') + 1;  // npos + 1 is 0
      if ((line_begin > 0 || at_line_start_) &&
          strip_space(text.substr(line_begin), Side::kLeft).empty())
        text = text.substr(0, line_begin);
    }
    if (!text.empty()) add(TokenKind::kData, std::string(text));
  }

  // Length up to the end of "{% raw %}" at the front; 0 if it is not there.
  size_t raw_length(size_t begin) const {
    size_t at = after_space(begin);
    if (!rest_.substr(at).starts_with("raw")) return 0;
    at = after_space(at + 3);
    if (rest_.substr(at).starts_with("-%}")) return after_space(at + 3);
    return rest_.substr(at).starts_with("%}") ? at + 2 : 0;
  }

  // The length of a tag's end at `at`, with the space that it takes; 0: none is there.
  size_t end_length(size_t at, std::string_view end, bool trims) const {
    const std::string_view here = rest_.substr(at);
    const auto begins = [&](char sign) {
      return here.starts_with(sign) && here.substr(1).starts_with(end);
    };
    if (trims && begins('+')) return 1 + end.size();
    if (begins('-')) return after_space(at + 1 + end.size()) - at;
    if (!here.starts_with(end)) return 0;
    return end.size() + (trims && here.substr(end.size()).starts_with('\n') ? 1 : 0);
  }

  void read_comment(size_t begin) {
    if (begin >= rest_.size()) return advance(rest_.size());  // Jinja takes one that ends there
    for (size_t at = begin; at < rest_.size(); ++at) {
      if (const size_t n = end_length(at, "#}", /*trims=*/true)) return advance(at + n);
    }
    fail_at(line_, "a comment has no end '#}'");
  }

  void read_raw() {
    if (rest_.empty()) return;  // Jinja takes one that ends there
    for (size_t at = rest_.find("{%"); at != rest_.npos; at = rest_.find("{%", at + 1)) {
      const char sign = at + 2 < rest_.size() ? rest_[at + 2] : '\0';
      size_t end = after_space(at + (sign == '-' || sign == '+' ? 3 : 2));
      if (!rest_.substr(end).starts_with("endraw")) continue;
      end = after_space(end + 6);
      const size_t n = end_length(end, "%}", /*trims=*/true);
      if (n == 0) continue;
      add_data(rest_.substr(0, at), sign, /*before_variable=*/false);
      return advance(end + n);
    }
    fail_at(line_, "a raw block has no end '{% endraw %}'");
  }

  void read_tag(bool block) {
    std::string open;  // brackets that are to be closed
    while (true) {
      if (open.empty()) {
        if (const size_t n = end_length(0, block ? "%}" : "}}", block)) {
          add(block ? TokenKind::kBlockEnd : TokenKind::kVariableEnd, "");
          return advance(n);
        }
      }
      skip_space_or_fail(block);
      if (open.empty() && end_length(0, block ? "%}" : "}}", block) > 0) continue;
      if (read_number() || read_name() || read_string()) continue;
      read_operator(open);
    }
  }

  void skip_space_or_fail(bool block) {
    skip_space();
    if (rest_.empty())
      fail_at(line_,
              fmt::format("the template ends inside a tag, expected '{}'", block ? "%}" : "}}"));
  }

  // Digits with single underscores between them; the index behind them.
  size_t digits_from(size_t at, bool (*is)(char)) const {
    size_t end = at;
    while (end < rest_.size() && (is(rest_[end]) || (end > at && rest_[end] == '_' &&
                                                     end + 1 < rest_.size() && is(rest_[end + 1]))))
      ++end;
    return end;
  }

  bool read_number() {
    if (!is_ascii_digit(rest_[0])) return false;
    const bool after_dot = !tokens_.empty() && tokens_.back().is_operator(".") &&
                           source_[source_.size() - rest_.size() - 1] == '.';
    size_t end = digits_from(0, is_ascii_digit);
    TokenKind kind = TokenKind::kInteger;
    if (!after_dot) end = float_end(end, kind);
    if (kind == TokenKind::kInteger) end = integer_end();
    std::string text(rest_.substr(0, end));
    std::erase(text, '_');
    add(kind, text);
    advance(end);
    return true;
  }

  size_t float_end(size_t whole, TokenKind& kind) const {
    size_t end = whole;
    if (end + 1 < rest_.size() && rest_[end] == '.' && is_ascii_digit(rest_[end + 1])) {
      end = digits_from(end + 1, is_ascii_digit);
      kind = TokenKind::kFloat;
    }
    if (end < rest_.size() && (rest_[end] == 'e' || rest_[end] == 'E')) {
      size_t at = end + 1;
      if (at < rest_.size() && (rest_[at] == '+' || rest_[at] == '-')) ++at;
      if (at < rest_.size() && is_ascii_digit(rest_[at])) {
        end = digits_from(at, is_ascii_digit);
        kind = TokenKind::kFloat;
      }
    }
    return end;
  }

  size_t integer_end() const {
    if (rest_[0] != '0') return digits_from(0, is_ascii_digit);
    bool (*is)(char) = nullptr;
    switch (rest_.size() > 1 ? rest_[1] | 0x20 : 0) {
      case 'x':
        is = [](char c) { return is_ascii_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f'); };
        break;
      case 'o':
        is = [](char c) { return c >= '0' && c <= '7'; };
        break;
      case 'b':
        is = [](char c) { return c == '0' || c == '1'; };
        break;
      default:
        return digits_from(0, [](char c) { return c == '0'; });
    }
    const size_t begin = rest_.size() > 2 && rest_[2] == '_' ? 3 : 2;
    const size_t end = digits_from(begin, is);
    return end > begin ? end : 1;
  }

  bool read_name() {
    size_t end = 0;
    while (end < rest_.size()) {
      const char c = rest_[end];
      const bool word = (c & 0x80) == 0 ? std::isalnum(static_cast<unsigned char>(c)) || c == '_'
                                        : is_word(next_utf8(rest_.substr(end)).point);
      if (!word) break;
      end += utf8_length(c);
    }
    if (end == 0) return false;
    add(TokenKind::kName, std::string(rest_.substr(0, end)));
    advance(end);
    return true;
  }

  bool read_string() {
    const char quote = rest_[0];
    if (quote != '\'' && quote != '"') return false;
    size_t end = 1;
    while (end < rest_.size() && rest_[end] != quote) end += rest_[end] == '\\' ? 2 : 1;
    if (end >= rest_.size()) fail_at(line_, fmt::format("a string has no end {}", quote));
    add(TokenKind::kString, unescaped(rest_.substr(1, end - 1)));
    advance(end + 1);
    return true;
  }

  // A backslash and what follows, as Python's "unicode-escape" reads it. Python first writes what
  // is beyond ASCII as escapes, so a backslash before such a character stays and its escape is
  // text.
  std::string unescaped(std::string_view text) const {
    std::string out;
    for (size_t at = 0; at < text.size();) {
      if (text[at] != '\\') {
        out += text[at++];
        continue;
      }
      const std::string_view rest = text.substr(at + 1);
      at += 1 + append_escape(rest, out);
    }
    return out;
  }

  // Appends the escape at the front of `rest`, which has no backslash any more. Returns its length.
  size_t append_escape(std::string_view rest, std::string& out) const {
    constexpr std::string_view kFrom = "\\'\"abfnrtv", kTo = "\\'\"\a\b\f\n\r\t\v";
    const char c = rest[0];
    if (c == '\n') return 1;
    if (const size_t i = kFrom.find(c); i != kFrom.npos) {
      out += kTo[i];
      return 1;
    }
    if (c >= '0' && c <= '7') {
      size_t n = 0;
      char32_t point = 0;
      for (; n < 3 && n < rest.size() && rest[n] >= '0' && rest[n] <= '7'; ++n)
        point = point * 8 + (rest[n] - '0');
      append_point(point, out);
      return n;
    }
    if (c == 'x' || c == 'u' || c == 'U') return append_hex(rest, out);
    if (c == 'N') fail_at(line_, "the escape \\N{...} is not supported in a string");
    out += '\\';
    if ((c & 0x80) == 0) {
      out += c;
      return 1;
    }
    const Utf8Step step = next_utf8(rest);
    const auto point = static_cast<uint32_t>(step.point);
    out += point < 0x100     ? fmt::format("x{:02x}", point)
           : point < 0x10000 ? fmt::format("u{:04x}", point)
                             : fmt::format("U{:08x}", point);
    return step.length;
  }

  size_t append_hex(std::string_view rest, std::string& out) const {
    const size_t n = rest[0] == 'x' ? 2 : rest[0] == 'u' ? 4 : 8;
    char32_t point = 0;
    for (size_t i = 1; i <= n; ++i) {
      const char c = i < rest.size() ? rest[i] : '\0';
      const int digit = is_ascii_digit(c)                        ? c - '0'
                        : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                                 : -1;
      if (digit < 0) fail_at(line_, fmt::format("a string has an invalid escape \\{}", rest[0]));
      point = point * 16 + digit;
    }
    append_point(point, out);
    return n + 1;
  }

  void append_point(char32_t point, std::string& out) const {
    if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
      fail_at(line_, "a string has an escape of half a character (a surrogate)");
    append_utf8(point, &out);
  }

  void read_operator(std::string& open) {
    const auto* sign = std::find_if(std::begin(kOperators), std::end(kOperators),
                                    [&](const char* s) { return rest_.starts_with(s); });
    if (sign == std::end(kOperators))
      fail_at(line_,
              fmt::format("unexpected character '{}'", rest_.substr(0, utf8_length(rest_[0]))));
    const std::string text = *sign;
    constexpr std::string_view kOpen = "{([", kClose = "})]";
    if (const size_t i = kOpen.find(text); i != kOpen.npos && text.size() == 1) {
      open += kClose[i];
    } else if (kClose.find(text) != kClose.npos && text.size() == 1) {
      if (open.empty()) fail_at(line_, fmt::format("unexpected '{}'", text));
      if (open.back() != text[0])
        fail_at(line_, fmt::format("unexpected '{}', expected '{}'", text, open.back()));
      open.pop_back();
    }
    add(TokenKind::kOperator, text);
    advance(text.size());
  }

  const std::string source_;
  std::string_view rest_;
  std::vector<Lexeme> tokens_;
  int line_ = 1;
  bool at_line_start_ = true;
};

}  // namespace

std::vector<Lexeme> tokenize(std::string_view template_text) { return Lexer(template_text).run(); }

std::string describe(const Lexeme& token) {
  switch (token.kind) {
    case TokenKind::kData:
      return "template data";
    case TokenKind::kVariableBegin:
      return "{{";
    case TokenKind::kVariableEnd:
      return "}}";
    case TokenKind::kBlockBegin:
      return "{%";
    case TokenKind::kBlockEnd:
      return "%}";
    case TokenKind::kString:
      return "a string";
    case TokenKind::kEnd:
      return "the end of the template";
    default:
      return token.text;
  }
}

}  // namespace pando::jinja
