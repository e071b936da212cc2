#include "text/grammar/expression.h"

#include <algorithm>
#include <set>

#include "base/errors.h"
#include "text/grammar/limits.h"
#include "text/utf8.h"

namespace pando::grammar {

Status check_grammar_text(std::string_view text) {
  if (text.size() > kMostTextBytes)
    return unsupported("the grammar has {} bytes, expected at most {}", text.size(),
                       kMostTextBytes);
  if (const auto at = find_invalid_utf8(text))
    return invalid_argument("the grammar is not UTF-8 at byte {}", *at);
  return {};
}

Expression of_regex(Regex regex) {
  return {.kind = Expression::Kind::kRegex, .regex = std::move(regex)};
}

Expression of_rule(std::string name) {
  return {.kind = Expression::Kind::kRule, .rule = std::move(name)};
}

Expression repeated(Expression part, uint32_t least, uint32_t most) {
  Expression out{.kind = Expression::Kind::kRepeat, .least = least, .most = most};
  out.parts.push_back(std::move(part));
  return out;
}

bool Cursor::take(std::string_view what) {
  if (has_failed() || !starts_with(what)) return false;
  at_ += what.size();
  return true;
}

std::string Cursor::word() {
  const size_t begin = at_;
  const auto is_in_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  // An arrow is no part of a word.
  while (!ends() && is_in_word(peek()) && !starts_with("->")) ++at_;
  return std::string(text_.substr(begin, at_ - begin));
}

char32_t Cursor::character() {
  if (ends()) {
    fail("the text ends where a character is expected");
    return 0;
  }
  const Utf8Step step = next_utf8(text_.substr(at_));
  at_ += static_cast<size_t>(step.length);
  return step.point;
}

std::optional<uint32_t> Cursor::number() {
  const size_t begin = at_;
  uint64_t value = 0;
  for (; peek() >= '0' && peek() <= '9'; ++at_)
    value = std::min<uint64_t>(value * 10 + static_cast<uint64_t>(peek() - '0'), kMostCount + 1);
  if (at_ == begin) return std::nullopt;
  if (value > kMostCount) refuse("a number above 1000000");
  return static_cast<uint32_t>(value);
}

char32_t Cursor::escaped() {
  const char32_t c = character();
  if (c != '\\') return c;
  const char32_t name = character();
  const auto hex = [&](int n) {
    char32_t value = 0;
    for (int i = 0; i < n && !has_failed(); ++i) {
      const char digit = peek();
      const int of_digit = digit >= '0' && digit <= '9'   ? digit - '0'
                           : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
                           : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                                          : -1;
      if (of_digit < 0) fail("too few hexadecimal digits");
      value = value * 16 + static_cast<char32_t>(of_digit);
      ++at_;
    }
    if (!has_failed() && (value > kLastChar || (value >= 0xD800 && value < 0xE000)))
      fail("an escape that stands for no character");
    return value;
  };
  switch (name) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'x':
      return hex(2);
    case 'u':
      return hex(4);
    case 'U':
      return hex(8);
    default:
      break;
  }
  if ((name >= 'a' && name <= 'z') || (name >= 'A' && name <= 'Z') || (name >= '0' && name <= '9'))
    fail("an escaped letter, expected n, r, t, x, u or U");
  return name;
}

void Cursor::fail(std::string_view what) {
  if (!error_) error_ = invalid_argument("{}, line {}: {}", language_, line(), what);
}

void Cursor::refuse(std::string_view what) {
  if (!error_) error_ = unsupported("{}, line {}: {} is not supported", language_, line(), what);
}

size_t Cursor::line() const {
  const std::string_view before = text_.substr(0, std::min(at_, text_.size()));
  return 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
}

namespace {

class ExpressionRules {
 public:
  explicit ExpressionRules(const std::map<std::string, Expression>& rules) : rules_(rules) {}

  Result<GrammarPtr> compile(const std::string& first, std::string_view language) {
    const Builder::Rule start = builder_.add_rule();
    builder_.call(builder_.start(start), number_of(first), builder_.end(start));
    while (!todo_.empty() && missing_.empty() && !builder_.is_too_large()) {
      const std::string name = todo_.back();
      todo_.pop_back();
      const auto found = rules_.find(name);
      if (found == rules_.end()) {
        missing_ = name;
        break;
      }
      const Builder::Rule rule = numbers_.at(name);
      builder_.empty(add(found->second, builder_.start(rule)), builder_.end(rule));
    }
    if (!missing_.empty())
      return in_file(language, invalid_argument("rule '{}' is used, but not defined", missing_));
    Result<GrammarPtr> grammar = builder_.finish();
    if (grammar || grammar.error().code != ErrorCode::kInvalidArgument) return grammar;
    const std::vector<bool> has_text = builder_.has_text();
    std::set<std::string> known;
    return in_file(
        language,
        invalid_argument(
            "no text fits rule '{}': each of its alternatives leads back to the rule without end, "
            "or needs a character from an empty set",
            rule_without_text(first, has_text, known)));
  }

 private:
  // The rule that makes a rule without texts fail: itself, or one that it leads to.
  std::string rule_without_text(const std::string& name, const std::vector<bool>& has_text,
                                std::set<std::string>& known) const {
    known.insert(name);
    std::vector<std::string> called;
    add_called(rules_.at(name), called);
    for (const std::string& other : called)
      if (!has_text[numbers_.at(other)] && !known.contains(other) && known.size() < kMostNesting)
        return rule_without_text(other, has_text, known);
    return name;
  }
  static void add_called(const Expression& expression, std::vector<std::string>& out) {
    if (expression.kind == Expression::Kind::kRule) out.push_back(expression.rule);
    for (const Expression& part : expression.parts) add_called(part, out);
  }

  Builder::Rule number_of(const std::string& name) {
    const auto [at, is_new] = numbers_.try_emplace(name, 0);
    if (is_new) {
      at->second = builder_.add_rule();
      todo_.push_back(name);
    }
    return at->second;
  }

  Builder::State add(const Expression& expression, Builder::State from) {
    if (builder_.is_too_large()) return from;
    switch (expression.kind) {
      case Expression::Kind::kSequence:
        for (const Expression& part : expression.parts) from = add(part, from);
        return from;
      case Expression::Kind::kOneOf: {
        const Builder::State to = builder_.state();
        for (const Expression& part : expression.parts) builder_.empty(add(part, begin(from)), to);
        return to;
      }
      case Expression::Kind::kRule: {
        const Builder::State to = builder_.state();
        builder_.call(from, number_of(expression.rule), to);
        return to;
      }
      case Expression::Kind::kRegex:
        return builder_.regex(from, expression.regex, Encoding::kUtf8);
      case Expression::Kind::kRepeat:
        break;
    }
    const Expression& part = expression.parts[0];
    for (uint32_t i = 0; i < expression.least && !builder_.is_too_large(); ++i)
      from = add(part, begin(from));
    const Builder::State to = builder_.state();
    if (expression.most == Regex::kNoEnd) {
      const Builder::State loop = begin(from);
      builder_.empty(add(part, loop), loop);
      builder_.empty(loop, to);
      return to;
    }
    for (uint32_t i = expression.least; i < expression.most && !builder_.is_too_large(); ++i) {
      builder_.empty(from, to);
      from = add(part, begin(from));
    }
    builder_.empty(from, to);
    return to;
  }
  Builder::State begin(Builder::State from) {
    const Builder::State to = builder_.state();
    builder_.empty(from, to);
    return to;
  }

  const std::map<std::string, Expression>& rules_;
  Builder builder_;
  std::map<std::string, Builder::Rule> numbers_;
  std::vector<std::string> todo_;
  std::string missing_;
};

}  // namespace

Result<GrammarPtr> RuleSet::compile(const std::string& first, std::string_view language) const {
  if (!has(first))
    return in_file(language, invalid_argument(
                                 "no rule '{}', expected one: it is where the text starts", first));
  return ExpressionRules(rules_).compile(first, language);
}

}  // namespace pando::grammar
