#include "text/pcre2_pattern.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/errors.h"
#include "text/utf8.h"

namespace pando {
namespace {

// The insides of sets. PCRE2's own \s also has U+180E, its \w is narrower than Unicode's.
constexpr std::string_view kSpace = R"(\t-\r\x{85}\p{Z})";
constexpr std::string_view kWord = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
constexpr std::string_view kDecimal = R"(\p{Nd})";

constexpr std::array<std::string_view, 36> kCategories = {
    "L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc", "Me", "N",  "Nd",
    "Nl", "No", "P",  "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "S",  "Sm",
    "Sc", "Sk", "So", "Z",  "Zs", "Zl", "Zp", "C",  "Cc", "Cf", "Co", "Cs"};
constexpr std::array<std::string_view, 12> kScripts = {
    "Han",   "Hiragana", "Katakana", "Hangul", "Latin", "Cyrillic",
    "Greek", "Arabic",   "Hebrew",   "Thai",   "Khmer", "Devanagari"};

template <size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

class Translator {
 public:
  explicit Translator(std::string_view pattern) : rest_(pattern), pattern_(pattern) {}

  Result<std::string> run() {
    while (!rest_.empty() && !refused_) step();
    if (refused_) {
      return unsupported("the regular expression '{}' has {} at byte {}, which is not supported",
                         pattern_, *refused_, refused_at_);
    }
    return std::move(out_);
  }

 private:
  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  void refuse(std::string_view what) {
    if (refused_) return;
    refused_ = std::string(what);
    refused_at_ = pattern_.size() - rest_.size();
  }
  bool caseless() const { return !caseless_.empty() && caseless_.back(); }

  void step() {
    const char last_letter = std::exchange(last_letter_, '\0');
    switch (rest_.front()) {
      case '\\':
        take();
        return escape(false);
      case '[':
        return set();
      case '(':
        return open();
      case ')':
        if (!caseless_.empty()) caseless_.pop_back();
        out_ += take();
        return;
      case '.':
        take();
        out_ += "[^\\n]";
        return;
      case '^':
        take();
        out_ += "(?:\\A|(?<=\\n)(?!\\z))";  // begins of lines
        return;
      case '$':
        take();
        out_ += "(?=\\n|\\z)";  // ends of lines
        return;
      case '*':
      case '+':
      case '?':
        out_ += take();
        if (!rest_.empty() && (rest_.front() == '?' || rest_.front() == '+')) out_ += take();
        return end_quantifier();
      case '{':
        return interval();
      default:
        return literal(last_letter);
    }
  }

  void end_quantifier() {
    const bool again =
        !rest_.empty() && std::string_view("*+?{").find(rest_.front()) != std::string_view::npos;
    if (again) refuse("a quantifier of a quantifier");
  }

  // {n}, {n,} and {n,m}. Ruby reads {n}? and {n,m}+ otherwise than PCRE2.
  void interval() {
    const size_t end = rest_.find('}');
    const std::string_view inside = rest_.substr(1, end == rest_.npos ? end : end - 1);
    const size_t comma = inside.find(',');
    const std::string_view low = inside.substr(0, comma);
    const std::string_view high = comma == inside.npos ? "" : inside.substr(comma + 1);
    const bool whole = end != rest_.npos && !low.empty() &&
                       std::all_of(low.begin(), low.end(), is_digit) &&
                       std::all_of(high.begin(), high.end(), is_digit);
    if (!whole) return refuse("'{' that does not begin {n}, {n,} or {n,m}");
    out_ += rest_.substr(0, end + 1);
    rest_.remove_prefix(end + 1);
    if (comma != inside.npos && take("?")) out_ += '?';
    end_quantifier();
  }

  void open() {
    static constexpr std::array<std::string_view, 6> kPlain = {"(?:",  "(?=",  "(?!",
                                                               "(?<=", "(?<!", "(?>"};
    const bool inherited = caseless();
    for (std::string_view begin : kPlain) {
      if (!take(begin)) continue;
      out_ += begin;
      caseless_.push_back(inherited);
      return;
    }
    if (take("(?i:")) {
      out_ += "(?i:";
      caseless_.push_back(true);
      return;
    }
    if (rest_.starts_with("(?") || rest_.starts_with("(*")) {
      return refuse(fmt::format("'{}'", rest_.substr(0, 3)));
    }
    out_ += take();
    caseless_.push_back(inherited);
  }

  // If case is ignored, Oniguruma also matches one character for two ("ss" for U+00DF).
  void literal(char last_letter) {
    const int length = next_utf8(rest_).length;
    const char c = rest_.front();
    if (caseless()) {
      static constexpr std::array<std::string_view, 5> kJoined = {"ss", "st", "ff", "fi", "fl"};
      const char lower = is_letter(c) ? static_cast<char>(c | 0x20) : '\0';
      const char pair[] = {last_letter, lower};
      if (!is_ascii(c)) return refuse("a case-insensitive character beyond ASCII");
      if (is_one_of(std::string_view(pair, 2), kJoined)) {
        return refuse(fmt::format("a case-insensitive '{}'", std::string_view(pair, 2)));
      }
      last_letter_ = lower;
    }
    out_ += rest_.substr(0, length);
    rest_.remove_prefix(length);
  }

  void set() {
    out_ += take();
    if (take("^")) out_ += '^';
    if (rest_.starts_with("]")) return refuse("an empty set");
    while (!rest_.empty() && !refused_) {
      if (rest_.front() == ']') {
        out_ += take();
        return;
      }
      if (rest_.front() == '[') return refuse("'[' inside a set");
      if (rest_.starts_with("&&")) return refuse("'&&' inside a set");
      if (take("\\")) {
        escape(true);
        continue;
      }
      if (caseless() && !is_ascii(rest_.front())) {
        return refuse("a case-insensitive character beyond ASCII");
      }
      out_ += take();
    }
    refuse("a set that is not closed");
  }

  // Reads an escape after its backslash.
  void escape(bool in_set) {
    if (rest_.empty()) return refuse("'\\' at the end");
    const char c = take();
    switch (c) {
      case 's':
        return append_class(kSpace, in_set);
      case 'w':
        return append_class(kWord, in_set);
      case 'd':
        return append_class(kDecimal, in_set);
      case 'S':
        return append_complement(kSpace, in_set);
      case 'W':
        return append_complement(kWord, in_set);
      case 'D':
        return append_complement(kDecimal, in_set);
      case 'p':
      case 'P':
        return property(c);
      case 'x':
      case 'u':
        return code_point(c);
      case 'v':
        out_ += "\\x{0B}";
        return;
      default:
        break;
    }
    const std::string_view plain = in_set ? "nrtf" : "nrtfAzZ";
    const bool same =
        is_ascii(c) && (!(is_letter(c) || is_digit(c)) || plain.find(c) != plain.npos);
    if (!same && is_ascii(c)) return refuse(fmt::format("'\\{}'", c));
    if (is_ascii(c)) out_ += '\\';
    out_ += c;  // the rest of a character beyond ASCII follows as it is
  }

  void append_class(std::string_view inside, bool in_set) {
    out_ += in_set ? std::string(inside) : fmt::format("[{}]", inside);
  }
  void append_complement(std::string_view inside, bool in_set) {
    if (in_set) return refuse("a complement inside a set");
    out_ += fmt::format("[^{}]", inside);
  }

  // \p{Name}, \P{Name}, \p{^Name}
  void property(char letter) {
    const size_t end = rest_.find('}');
    if (!rest_.starts_with('{') || end == rest_.npos) return refuse("\\p without {");
    std::string_view name = rest_.substr(1, end - 1);
    bool complement = letter == 'P';
    if (name.starts_with('^')) {
      complement = !complement;
      name.remove_prefix(1);
    }
    const bool script = is_one_of(name, kScripts);
    const bool of_case = name == "Lu" || name == "Ll" || name == "Lt";
    if ((!script && !is_one_of(name, kCategories)) || (of_case && caseless())) {
      return refuse(fmt::format("the property '{}'", name));
    }
    out_ += fmt::format("\\{}{{{}{}}}", complement ? 'P' : 'p', script ? "sc:" : "", name);
    rest_.remove_prefix(end + 1);
  }

  // \xHH below 80, \x{H...} and \uHHHH
  void code_point(char letter) {
    const bool braces = letter == 'x' && take("{");
    const size_t length = braces ? rest_.find('}') : letter == 'x' ? 2 : 4;
    const std::string_view digits = rest_.substr(0, length);
    const bool hex = length != rest_.npos && digits.size() == length && length > 0 && length <= 6 &&
                     digits.find_first_not_of("0123456789abcdefABCDEF") == digits.npos;
    if (!hex) return refuse(fmt::format("'\\{}' without its digits", letter));
    const bool byte = letter == 'x' && !braces && digits[0] > '7';
    if (byte || caseless()) return refuse(fmt::format("'\\{}{}'", letter, digits));
    out_ += fmt::format("\\x{{{}}}", digits);
    rest_.remove_prefix(length);
    if (braces) take();
  }

  std::string_view rest_;
  std::string_view pattern_;
  std::string out_;
  std::vector<bool> caseless_;  // by open group
  char last_letter_ = '\0';     // before, where the case does not count
  std::optional<std::string> refused_;
  size_t refused_at_ = 0;
};

}  // namespace

Result<std::string> to_pcre2_pattern(std::string_view pattern) { return Translator(pattern).run(); }

}  // namespace pando
