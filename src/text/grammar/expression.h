// The right sides of a grammar's rules, and the reading of their texts; for GBNF and Lark.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.h"
#include "text/grammar/builder.h"

namespace pando::grammar {

struct Expression {
  enum class Kind { kSequence, kOneOf, kRepeat, kRule, kRegex };
  Kind kind = Kind::kSequence;
  std::vector<Expression> parts = {};
  uint32_t least = 0;  // kRepeat: repetitions of its only part
  uint32_t most = Regex::kNoEnd;
  std::string rule = {};  // its name
  Regex regex = {};       // without "^" and "$"
};
Expression of_regex(Regex regex);
Expression of_rule(std::string name);
Expression repeated(Expression part, uint32_t least, uint32_t most = Regex::kNoEnd);

// Checks that a grammar's text is UTF-8, and not too long.
Status check_grammar_text(std::string_view text);

// A text that is read from its start, with the first error that was met. Lines are for messages.
class Cursor {
 public:
  Cursor(std::string_view language, std::string_view text) : language_(language), text_(text) {}

  bool ends() const { return at_ >= text_.size() || error_; }
  char peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool starts_with(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  bool take(std::string_view what);
  void advance(size_t n = 1) { at_ += n; }
  size_t place() const { return at_; }
  void go_to(size_t place) { at_ = place; }
  std::string word();    // of letters, digits, "_" and "-"; may be empty
  char32_t character();  // the next one
  std::optional<uint32_t> number();
  // A character of a quoted text or a set, behind a backslash or by itself.
  char32_t escaped();

  bool has_failed() const { return error_.has_value(); }
  const Error& error() const { return *error_; }
  void fail(std::string_view what);    // malformed
  void refuse(std::string_view what);  // not offered
  void keep(Error error) {
    if (!error_) error_ = std::move(error);
  }

 private:
  size_t line() const;

  std::string_view language_;
  std::string_view text_;
  size_t at_ = 0;
  std::optional<Error> error_;
};

// Rules by name, as an automaton.
class RuleSet {
 public:
  // False if there is one of that name.
  bool add(const std::string& name, Expression expression) {
    return rules_.emplace(name, std::move(expression)).second;
  }
  bool has(const std::string& name) const { return rules_.contains(name); }
  const std::map<std::string, Expression>& rules() const { return rules_; }
  // `language` is for messages.
  Result<GrammarPtr> compile(const std::string& first, std::string_view language) const;

 private:
  std::map<std::string, Expression> rules_;
};

}  // namespace pando::grammar
