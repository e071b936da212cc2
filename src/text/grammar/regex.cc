#include "text/grammar/regex.h"

#include <utf8proc.h>

#include <array>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/errors.h"
#include "text/grammar/limits.h"
#include "text/utf8.h"

namespace pando::grammar {

Regex of_set(CharSet set) { return {.kind = Regex::Kind::kSet, .set = std::move(set)}; }

Regex of_text(std::string_view text) {
  Regex out;
  for (const char32_t c : characters_of(text)) out.parts.push_back(of_set(CharSet::one(c)));
  return out;
}

Regex sequence(std::vector<Regex> parts) {
  return {.kind = Regex::Kind::kSequence, .parts = std::move(parts)};
}

Regex one_of(std::vector<Regex> parts) {
  return {.kind = Regex::Kind::kOneOf, .parts = std::move(parts)};
}

Regex repeat(Regex part, uint32_t least, uint32_t most) {
  Regex out{.kind = Regex::Kind::kRepeat, .least = least, .most = most};
  out.parts.push_back(std::move(part));
  return out;
}

namespace {

const CharSet& digits() {
  static const CharSet set({{'0', '9'}});
  return set;
}
const CharSet& word_characters() {
  static const CharSet set({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}});
  return set;
}
const CharSet& spaces() {
  static const CharSet set({{0x09, 0x0D},
                            {' ', ' '},
                            {0xA0, 0xA0},
                            {0x1680, 0x1680},
                            {0x2000, 0x200A},
                            {0x2028, 0x2029},
                            {0x202F, 0x202F},
                            {0x205F, 0x205F},
                            {0x3000, 0x3000},
                            {0xFEFF, 0xFEFF}});
  return set;
}
const CharSet& line_ends() {
  static const CharSet set({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}});
  return set;
}

// The characters of each general category, "Lu", and of each group of them, "L".
const std::map<std::string, CharSet, std::less<>>& categories() {
  static const auto all = [] {
    std::map<std::string, std::vector<CharRange>> ranges;
    char32_t begin = 0;
    for (char32_t c = 0; c <= kLastChar; ++c) {
      const auto category = [](char32_t of) {
        return utf8proc_category(static_cast<utf8proc_int32_t>(of));
      };
      if (c < kLastChar && category(c) == category(c + 1)) continue;
      const std::string name = utf8proc_category_string(static_cast<utf8proc_int32_t>(c));
      ranges[name].push_back({begin, c});
      ranges[name.substr(0, 1)].push_back({begin, c});
      begin = c + 1;
    }
    std::map<std::string, CharSet, std::less<>> sets;
    for (auto& [name, of_one] : ranges) sets.emplace(name, std::move(of_one));
    return sets;
  }();
  return all;
}

// Characters of a category by any of its names; empty for an unknown name.
CharSet of_category(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kLongNames{
      {{"Letter", "L"},
       {"Lowercase_Letter", "Ll"},
       {"Uppercase_Letter", "Lu"},
       {"Mark", "M"},
       {"Number", "N"},
       {"Decimal_Number", "Nd"},
       {"Punctuation", "P"},
       {"Symbol", "S"},
       {"Separator", "Z"}}};
  for (const auto& [full, brief] : kLongNames)
    if (name == full) name = brief;
  const auto found = categories().find(name);
  return found == categories().end() ? CharSet() : found->second;
}

int hex_value(char32_t c) {
  if (c >= '0' && c <= '9') return static_cast<int>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<int>(c - 'a') + 10;
  if (c >= 'A' && c <= 'F') return static_cast<int>(c - 'A') + 10;
  return -1;
}

class RegexParser {
 public:
  RegexParser(std::string_view pattern, RegexSyntax syntax)
      : pattern_(pattern), text_(characters_of(pattern)), syntax_(syntax) {}

  Result<Regex> parse() {
    Regex all = alternatives();
    if (!error_ && at_ < text_.size()) fail("a ')' without its '('");
    if (error_) return std::move(*error_);
    return all;
  }

 private:
  bool ends() const { return at_ >= text_.size() || error_; }
  char32_t peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : 0;
  }
  bool take(std::u32string_view what) {
    if (std::u32string_view(text_).substr(at_, what.size()) != what) return false;
    at_ += what.size();
    return true;
  }
  void fail(std::string_view what) {
    if (!error_)
      error_ = invalid_argument("pattern '{}' has {} at character {}", pattern_, what, at_);
  }
  void refuse(std::string_view what) {
    if (!error_)
      error_ = unsupported("pattern '{}' has {}, which is not supported", pattern_, what);
  }

  Regex alternatives() {
    if (++depth_ > kMostNesting) refuse("brackets nested deeper than 200");
    std::vector<Regex> all;
    do all.push_back(terms());
    while (!ends() && take(U"|"));
    --depth_;
    return all.size() == 1 ? std::move(all[0]) : one_of(std::move(all));
  }

  Regex terms() {
    Regex all;
    while (!ends() && peek() != '|' && peek() != ')') {
      Regex one = atom();
      all.parts.push_back(repeated(std::move(one)));
    }
    return all;
  }

  Regex repeated(Regex part) {
    for (size_t n = 0; !ends(); ++n) {
      if (n > kMostRepetitions) {
        refuse("too many repetitions of one part");
        return part;
      }
      const size_t before = at_;
      uint32_t least = 0, most = Regex::kNoEnd;
      if (take(U"*")) {
      } else if (take(U"+")) {
        least = 1;
      } else if (take(U"?")) {
        most = 1;
      } else if (peek() != '{' || !counts(&least, &most)) {
        break;
      }
      if (part.kind == Regex::Kind::kTextStart || part.kind == Regex::Kind::kTextEnd)
        refuse("a repeated '^' or '$'");
      if (most < least) fail("a repetition whose minimum is above its maximum");
      if (take(U"?")) {  // the shortest first: the same texts
      } else if (peek() == '+') {
        refuse("a possessive repetition");
      }
      if (before == at_) break;
      part = repeat(std::move(part), least, most);
      if (peek() == '*' || peek() == '?') fail("two repetition signs in a row");
    }
    return part;
  }

  // "{2}", "{2,}", "{2,3}"; anything else stands for itself.
  bool counts(uint32_t* least, uint32_t* most) {
    size_t i = at_ + 1;
    const auto number = [&](uint32_t* value) {
      const size_t begin = i;
      uint64_t sum = 0;
      for (; i < text_.size() && text_[i] >= '0' && text_[i] <= '9'; ++i)
        sum = std::min<uint64_t>(sum * 10 + (text_[i] - '0'), kMostCount + 1);
      *value = static_cast<uint32_t>(sum);
      return i > begin;
    };
    const auto is = [&](char32_t c) { return i < text_.size() && text_[i] == c; };
    if (!number(least)) {
      if (is(',') && i + 1 < text_.size() && text_[i + 1] >= '0' && text_[i + 1] <= '9')
        refuse("'{,'");
      return false;
    }
    *most = *least;
    if (is(',')) {
      ++i;
      if (is('}'))
        *most = Regex::kNoEnd;
      else if (!number(most))
        return false;
    }
    if (!is('}')) return false;
    at_ = i + 1;
    if (*least > kMostCount || (*most > kMostCount && *most != Regex::kNoEnd))
      refuse("a count above 1000000");
    return true;
  }

  Regex atom() {
    const char32_t c = text_[at_++];
    switch (c) {
      case '^':
        return {.kind = Regex::Kind::kTextStart};
      case '$':
        return {.kind = Regex::Kind::kTextEnd};
      case '.':
        return of_set(syntax_.dot_is_all ? CharSet::all() : line_ends().complement());
      case '(':
        return group();
      case '[':
        return of_set(counted(bracket()));
      case '\\':
        return of_set(counted(cased(escape(false))));
      case '*':
      case '+':
      case '?':
        fail("a repetition with nothing before it");
        return {};
      default:
        return of_set(counted(cased(CharSet::one(c))));
    }
  }

  CharSet cased(CharSet set) const { return syntax_.any_case ? set.any_case() : set; }

  Regex group() {
    if (take(U"?:")) {
    } else if (take(U"?=") || take(U"?!") || take(U"?<=") || take(U"?<!")) {
      refuse("a lookahead or lookbehind");
    } else if (take(U"?P<") || take(U"?<")) {
      while (!ends() && peek() != '>') ++at_;
      if (!take(U">")) fail("a group name without its '>'");
    } else if (peek() == '?') {
      refuse("a group of an unknown kind '(?'");
    }
    if (error_) return {};
    Regex inside = alternatives();
    if (!take(U")")) fail("a '(' without its ')'");
    return inside;
  }

  CharSet bracket() {
    const bool is_not = take(U"^");
    std::vector<CharRange> ranges;
    const auto add = [&](const CharSet& set) {
      ranges.insert(ranges.end(), set.ranges().begin(), set.ranges().end());
    };
    while (!ends() && peek() != ']') {
      const CharSet first = one_of_bracket();
      if (peek() == '-' && peek(1) != ']' && peek(1) != 0 && is_single(first)) {
        ++at_;
        const CharSet last = one_of_bracket();
        if (is_single(last)) {
          const CharRange range{first.ranges()[0].first, last.ranges()[0].first};
          if (range.first > range.last) fail("a range of characters whose end is before its start");
          ranges.push_back(range);
          continue;
        }
        ranges.push_back({'-', '-'});
        add(last);
      }
      add(first);
    }
    if (!take(U"]")) fail("a '[' without its ']'");
    const CharSet all = cased(CharSet(std::move(ranges)));
    return is_not ? all.complement() : all;
  }
  static bool is_single(const CharSet& set) {
    return set.ranges().size() == 1 && set.ranges()[0].first == set.ranges()[0].last;
  }
  CharSet one_of_bracket() {
    if (ends()) return {};
    const char32_t c = text_[at_++];
    return counted(c == '\\' ? escape(true) : CharSet::one(c));
  }
  // A set of the pattern, whose ranges count.
  CharSet counted(CharSet set) {
    n_ranges_ += set.ranges().size();
    if (n_ranges_ > kMostPatternRanges) {
      refuse("too many ranges of characters");
      return {};
    }
    return set;
  }

  // Reads an escape after its backslash.
  CharSet escape(bool in_bracket) {
    if (ends()) {
      fail("a '\\' at its end");
      return {};
    }
    const char32_t c = text_[at_++];
    switch (c) {
      case 'd':
        return digits();
      case 'D':
        return digits().complement();
      case 'w':
        return word_characters();
      case 'W':
        return word_characters().complement();
      case 's':
        return spaces();
      case 'S':
        return spaces().complement();
      case 't':
        return CharSet::one('\t');
      case 'n':
        return CharSet::one('\n');
      case 'r':
        return CharSet::one('\r');
      case 'f':
        return CharSet::one('\f');
      case 'v':
        return CharSet::one('\v');
      case 'x':
        return CharSet::one(hex(2));
      case 'u':
        return CharSet::one(unicode());
      case 'p':
      case 'P':
        return property(c == 'P');
      case 'b':
        if (in_bracket) return CharSet::one('\b');
        refuse("a word boundary '\\b'");
        return {};
      case 'B':
        refuse("a word boundary '\\B'");
        return {};
      case 'c': {
        const char32_t letter = peek() | 0x20;
        if (letter < 'a' || letter > 'z') fail("a '\\c' without a letter");
        ++at_;
        return CharSet::one(letter & 0x1F);
      }
      case '0':
        if (peek() >= '0' && peek() <= '9') refuse("an octal escape");
        return CharSet::one(0);
      default:
        break;
    }
    if (c >= '1' && c <= '9') refuse("a backreference such as '\\1'");
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
      refuse("an escaped letter that ECMA-262 does not define");
    return CharSet::one(c);
  }

  char32_t hex(int n_digits) {
    char32_t value = 0;
    for (int i = 0; i < n_digits; ++i) {
      const int digit = hex_value(peek());
      if (digit < 0) {
        fail("too few hexadecimal digits");
        return 0;
      }
      value = value * 16 + static_cast<char32_t>(digit);
      ++at_;
    }
    return value;
  }

  char32_t unicode() {
    if (take(U"{")) {
      char32_t value = 0;
      while (!ends() && hex_value(peek()) >= 0 && value <= kLastChar)
        value = value * 16 + static_cast<char32_t>(hex_value(text_[at_++]));
      if (!take(U"}") || value > kLastChar) fail("an invalid code point in '\\u{'");
      return value;
    }
    const char32_t high = hex(4);
    if (high < 0xD800 || high > 0xDBFF || !take(U"\\u")) return high;
    const char32_t low = hex(4);
    if (low < 0xDC00 || low > 0xDFFF) fail("half of a surrogate pair");
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
  }

  CharSet property(bool is_not) {
    std::string name;
    if (take(U"{")) {
      while (!ends() && peek() != '}') append_utf8(text_[at_++], &name);
      if (!take(U"}")) fail("a '\\p{' without its '}'");
    }
    std::string_view category = name;
    for (const std::string_view prefix : {"General_Category=", "gc="})
      if (category.starts_with(prefix)) category.remove_prefix(prefix.size());
    const CharSet set = of_category(category);
    if (set.is_empty()) refuse("the property '\\p{" + name + "}'");
    return is_not ? set.complement() : set;
  }

  std::string_view pattern_;
  std::u32string text_;
  RegexSyntax syntax_;
  size_t at_ = 0;
  size_t depth_ = 0;
  size_t n_ranges_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Result<Regex> parse_regex(std::string_view pattern, RegexSyntax syntax) {
  if (const auto at = find_invalid_utf8(pattern))
    return invalid_argument("the pattern is not UTF-8 at byte {}", *at);
  if (pattern.size() > kMostTextBytes)
    return unsupported("the pattern has {} bytes, expected at most {}", pattern.size(),
                       kMostTextBytes);
  return RegexParser(pattern, syntax).parse();
}

}  // namespace pando::grammar
