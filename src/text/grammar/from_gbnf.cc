// The grammars of llama.cpp.
#include <fmt/format.h>

#include "text/grammar/expression.h"
#include "text/grammar/limits.h"

namespace pando::grammar {

namespace {

class GbnfReader {
 public:
  explicit GbnfReader(std::string_view text) : in_("grammar", text) {}

  Result<GrammarPtr> read() {
    skip_space(true);
    while (!in_.ends()) {
      rule();
      skip_space(true);
    }
    if (in_.has_failed()) return in_.error();
    return rules_.compile("root", "grammar");
  }

 private:
  void skip_space(bool with_lines) {
    while (!in_.ends()) {
      const char c = in_.peek();
      if (c == '#')
        while (!in_.ends() && in_.peek() != '\n') in_.advance();
      else if (c == ' ' || c == '\t' || (with_lines && (c == '\n' || c == '\r')))
        in_.advance();
      else
        break;
    }
  }

  void rule() {
    const std::string name = in_.word();
    if (name.empty()) return in_.fail("expected the name of a rule");
    skip_space(false);
    if (!in_.take("::=")) return in_.fail("expected '::=' after the name of a rule");
    skip_space(true);
    Expression right = alternatives(false);
    if (!in_.ends() && in_.peek() != '\n' && in_.peek() != '\r')
      return in_.fail("unexpected text in a rule");
    if (!rules_.add(name, std::move(right))) in_.fail("rule '" + name + "' is defined twice");
  }

  Expression alternatives(bool is_nested) {
    if (++depth_ > kMostNesting) in_.refuse("nesting of more than 200 brackets");
    Expression all{.kind = Expression::Kind::kOneOf};
    do {
      skip_space(true);
      all.parts.push_back(sequence(is_nested));
    } while (in_.take("|"));
    --depth_;
    return all;
  }

  Expression sequence(bool is_nested) {
    Expression all;
    while (!in_.ends()) {
      const char c = in_.peek();
      Expression one;
      if (in_.take("\"")) {
        one = literal();
      } else if (in_.take("[")) {
        one = of_regex(of_set(set()));
      } else if (in_.take("(")) {
        one = alternatives(true);
        if (!in_.take(")")) in_.fail("a '(' without its ')'");
      } else if (in_.take(".")) {
        one = of_regex(of_set(CharSet::all()));
      } else if (c == '<' || c == '!') {
        in_.refuse("a token by its number or name");
      } else if (const std::string name = in_.word(); !name.empty()) {
        one = of_rule(name);
      } else {
        break;
      }
      // Another rule begins in the next line.
      skip_space(is_nested);
      all.parts.push_back(repetitions(std::move(one), is_nested));
    }
    return all;
  }

  Expression repetitions(Expression one, bool is_nested) {
    for (size_t n = 0; !in_.ends(); ++n) {
      if (n > kMostRepetitions) {
        in_.refuse(fmt::format("a row of more than {} repetition signs", kMostRepetitions));
        return one;
      }
      if (in_.take("*")) {
        one = repeated(std::move(one), 0);
      } else if (in_.take("+")) {
        one = repeated(std::move(one), 1);
      } else if (in_.take("?")) {
        one = repeated(std::move(one), 0, 1);
      } else if (in_.take("{")) {
        skip_space(is_nested);
        const auto least = in_.number();
        auto most = least;
        skip_space(is_nested);
        if (in_.take(",")) {
          skip_space(is_nested);
          most = in_.number();
          skip_space(is_nested);
          if (!most) most = Regex::kNoEnd;
        }
        if (!least || !in_.take("}")) in_.fail("expected a repetition such as {2}, {2,} or {2,3}");
        if (least && *most < *least) in_.fail("a repetition whose minimum is above its maximum");
        if (in_.has_failed()) return one;
        one = repeated(std::move(one), *least, *most);
      } else {
        break;
      }
      skip_space(is_nested);
    }
    return one;
  }

  Expression literal() {
    Regex text;
    while (!in_.ends() && in_.peek() != '"')
      text.parts.push_back(of_set(CharSet::one(in_.escaped())));
    if (!in_.take("\"")) in_.fail("a string without its closing '\"'");
    return of_regex(std::move(text));
  }

  CharSet set() {
    const bool is_not = in_.take("^");
    std::vector<CharRange> ranges;
    while (!in_.ends() && in_.peek() != ']') {
      const char32_t first = in_.escaped();
      char32_t last = first;
      if (in_.peek() == '-' && in_.peek(1) != ']') {
        in_.advance();
        last = in_.escaped();
      }
      if (last < first) in_.fail("a range of characters whose end is before its start");
      ranges.push_back({first, last});
    }
    if (!in_.take("]")) in_.fail("a '[' without its ']'");
    const CharSet all(std::move(ranges));
    return is_not ? all.complement() : all;
  }

  Cursor in_;
  RuleSet rules_;
  size_t depth_ = 0;
};

}  // namespace

Result<GrammarPtr> from_gbnf(std::string_view text) {
  if (Status status = check_grammar_text(text); !status) return status.error();
  return GbnfReader(text).read();
}

}  // namespace pando::grammar
