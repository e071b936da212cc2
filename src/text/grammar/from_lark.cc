// The grammars of Lark, as llguidance reads them, but without a lexer: a text belongs to the
// grammar where there is any way to read it.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/grammar/expression.h"
#include "text/grammar/limits.h"

namespace pando::grammar {

namespace {

// Terminals of Lark's own "common".
constexpr std::array<std::pair<std::string_view, std::string_view>, 20> kCommon{{
    {"DIGIT", "[0-9]"},
    {"HEXDIGIT", "[0-9a-fA-F]"},
    {"INT", "[0-9]+"},
    {"SIGNED_INT", "[+-]?[0-9]+"},
    {"DECIMAL", "[0-9]+\\.[0-9]*|\\.[0-9]+"},
    {"FLOAT", "[0-9]+[eE][+-]?[0-9]+|([0-9]+\\.[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?"},
    {"SIGNED_FLOAT", "[+-]?([0-9]+[eE][+-]?[0-9]+|([0-9]+\\.[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?)"},
    {"NUMBER", "[0-9]+([eE][+-]?[0-9]+)?|([0-9]+\\.[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?"},
    {"SIGNED_NUMBER",
     "[+-]?([0-9]+([eE][+-]?[0-9]+)?|([0-9]+\\.[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?)"},
    {"LCASE_LETTER", "[a-z]"},
    {"UCASE_LETTER", "[A-Z]"},
    {"LETTER", "[a-zA-Z]"},
    {"WORD", "[a-zA-Z]+"},
    {"CNAME", "[a-zA-Z_][a-zA-Z0-9_]*"},
    {"WS_INLINE", "[ \\t]+"},
    {"WS", "[ \\t\\f\\r\\n]+"},
    {"CR", "\\r"},
    {"LF", "\\n"},
    {"NEWLINE", "(\\r?\\n)+"},
    {"ESCAPED_STRING", "\"([^\"\\\\\\n]|\\\\[^\\n])*\""},
}};

constexpr std::string_view kIgnored = "%ignore";  // the rule of what may stand between terminals

bool has_ends(const Regex& regex) {
  return regex.kind == Regex::Kind::kTextStart || regex.kind == Regex::Kind::kTextEnd ||
         std::any_of(regex.parts.begin(), regex.parts.end(), has_ends);
}

class LarkReader {
 public:
  explicit LarkReader(std::string_view text) : in_("Lark grammar", text) {}

  Result<GrammarPtr> read() {
    skip_space(true);
    while (!in_.ends()) {
      if (in_.peek() == '%')
        directive();
      else
        rule();
      skip_space(true);
    }
    if (in_.has_failed()) return in_.error();
    check_terminals();
    if (in_.has_failed()) return in_.error();
    rules_.add(std::string(kIgnored),
               repeated({.kind = Expression::Kind::kOneOf, .parts = ignored_}, 0));
    return rules_.compile("start", "Lark grammar");
  }

 private:
  void skip_space(bool with_lines) {
    while (!in_.ends()) {
      const char c = in_.peek();
      if (c == '#' || in_.starts_with("//"))
        while (!in_.ends() && in_.peek() != '\n') in_.advance();
      else if (c == ' ' || c == '\t' || (with_lines && (c == '\n' || c == '\r')))
        in_.advance();
      else
        break;
    }
  }
  // Skips to the next part of a rule: in the same line; in brackets in any line; and in the next
  // line only if it begins with "|".
  void skip_in_rule() {
    skip_space(depth_ > 1);
    if (depth_ > 1 || (in_.peek() != '\n' && in_.peek() != '\r')) return;
    const size_t before = in_.place();
    skip_space(true);
    if (in_.peek() != '|') in_.go_to(before);
  }
  static bool is_terminal(std::string_view name) {
    const size_t first = name.find_first_not_of('_');
    return first != name.npos && name[first] >= 'A' && name[first] <= 'Z';
  }

  void directive() {
    if (in_.take("%ignore")) {
      skip_space(false);
      is_in_terminal_ = true;
      ignored_.push_back(alternatives());
      return;
    }
    if (!in_.take("%import")) {
      in_.advance();
      return in_.refuse("the directive '%" + in_.word() + "'");
    }
    skip_space(false);
    if (!in_.take("common")) return in_.refuse("an import from a module other than 'common'");
    skip_space(false);
    if (in_.take(".")) return import(in_.word());
    if (!in_.take("(")) return in_.fail("expected the names to import");
    do {
      skip_space(true);
      import(in_.word());
      skip_space(true);
    } while (in_.take(","));
    if (!in_.take(")")) in_.fail("a '(' without its ')'");
  }
  void import(const std::string& name) {
    const auto* found = std::find_if(kCommon.begin(), kCommon.end(),
                                     [&](const auto& one) { return one.first == name; });
    if (found == kCommon.end()) return in_.refuse("an import of 'common." + name + "'");
    skip_space(false);
    std::string as = name;
    if (in_.take("->")) {
      skip_space(false);
      as = in_.word();
    }
    define(as, of_regex(*parse_regex(found->second)));
  }

  void define(const std::string& name, Expression right) {
    if (!rules_.add(name, std::move(right))) in_.fail("rule '" + name + "' is defined twice");
  }

  void rule() {
    while (in_.peek() == '?' || in_.peek() == '!') in_.advance();  // about the tree alone
    const std::string name = in_.word();
    if (name.empty()) return in_.fail("expected the name of a rule");
    if (in_.peek() == '{') return in_.refuse("a template");
    if (in_.peek() == '[') return in_.refuse("an attribute of a rule");
    if (in_.take(".")) {  // a priority chooses between readings, which are all allowed
      in_.take("-");
      if (!in_.number()) return in_.fail("expected a number as the priority");
    }
    skip_space(false);
    if (!in_.take(":")) return in_.fail("expected ':' after the name of a rule");
    is_in_terminal_ = is_terminal(name);
    skip_in_rule();
    Expression right = alternatives();
    skip_space(false);
    if (!in_.ends() && in_.peek() != '\n' && in_.peek() != '\r')
      return in_.fail("unexpected text in a rule");
    define(name, std::move(right));
  }

  Expression alternatives() {
    if (++depth_ > kMostNesting) in_.refuse("nesting of more than 200 brackets");
    Expression all{.kind = Expression::Kind::kOneOf};
    skip_in_rule();
    in_.take("|");  // before the first one, as it may stand
    do {
      skip_in_rule();
      all.parts.push_back(sequence());
    } while (in_.take("|"));
    --depth_;
    return all;
  }

  Expression sequence() {
    Expression all;
    while (!in_.ends()) {
      if (in_.take("->")) {  // a name in the tree
        skip_space(false);
        in_.word();
        skip_in_rule();
        break;
      }
      Expression one;
      if (!atom(&one)) break;
      skip_in_rule();
      all.parts.push_back(repetitions(std::move(one)));
    }
    return all;
  }

  // False if no part begins.
  bool atom(Expression* one) {
    const char c = in_.peek();
    if (in_.take("(")) {
      *one = alternatives();
      if (!in_.take(")")) in_.fail("a '(' without its ')'");
    } else if (in_.take("[")) {
      *one = repeated(alternatives(), 0, 1);
      if (!in_.take("]")) in_.fail("a '[' without its ']'");
    } else if (c == '"') {
      *one = terminal(quoted());
    } else if (c == '/') {
      *one = terminal(pattern());
    } else if (c == '<' || c == '@' || c == '%' || c == '&') {
      in_.refuse(c == '<'   ? "a token by its number or name"
                 : c == '@' ? "a reference to another grammar"
                 : c == '%' ? "a grammar inside a grammar"
                            : "an intersection");
    } else if (const std::string name = in_.word(); !name.empty()) {
      if (in_.peek() == '{') in_.refuse("a template");
      if (is_in_terminal_ && !is_terminal(name))
        in_.fail("a terminal uses '" + name + "', which is a rule");
      *one = is_terminal(name) ? terminal(of_rule(name)) : of_rule(name);
    } else {
      return false;
    }
    return true;
  }

  // A terminal, with ignored text behind it.
  Expression terminal(Expression inside) const {
    if (is_in_terminal_) return inside;
    Expression out;
    out.parts.push_back(std::move(inside));
    out.parts.push_back(of_rule(std::string(kIgnored)));
    return out;
  }

  Expression repetitions(Expression one) {
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
      } else if (in_.peek() == '~' || in_.peek() == '{') {
        const bool has_brackets = in_.take("{");
        if (!has_brackets) in_.take("~");
        skip_space(false);
        const auto least = in_.number();
        auto most = least;
        skip_space(false);
        if (in_.take(has_brackets ? "," : "..")) {
          skip_space(false);
          most = in_.number();
          if (!most && has_brackets) most = Regex::kNoEnd;
        }
        skip_space(false);
        if (!least || !most || (has_brackets && !in_.take("}")))
          in_.fail("expected a repetition such as ~2, ~2..3, {2} or {2,3}");
        else if (*most < *least)
          in_.fail("a repetition whose minimum is above its maximum");
        if (in_.has_failed()) return one;
        one = repeated(std::move(one), *least, *most);
      } else {
        break;
      }
      skip_in_rule();
    }
    return one;
  }

  // "text", "text"i or "a".."z".
  Expression quoted() {
    const auto text = [&] {
      std::u32string characters;
      in_.advance();
      while (!in_.ends() && in_.peek() != '"' && in_.peek() != '\n') characters += in_.escaped();
      if (!in_.take("\"")) in_.fail("a string without its closing '\"'");
      return characters;
    };
    const std::u32string first = text();
    if (in_.take("..")) {
      const std::u32string last = in_.peek() == '"' ? text() : std::u32string();
      if (first.size() != 1 || last.size() != 1 || last < first) {
        in_.fail("expected a range of two characters in ascending order");
        return {};
      }
      return of_regex(of_set(CharSet({{first[0], last[0]}})));
    }
    const bool any_case = in_.take("i");
    Regex all;
    for (const char32_t c : first) {
      if (any_case && c >= 0x80)
        in_.refuse("a case-insensitive text with characters other than ASCII");
      const CharSet set = CharSet::one(c);
      all.parts.push_back(of_set(any_case ? set.any_case() : set));
    }
    return of_regex(std::move(all));
  }

  Expression pattern() {
    in_.advance();
    std::string text;
    bool is_in_set = false;
    while (!in_.ends() && in_.peek() != '\n' && (in_.peek() != '/' || is_in_set)) {
      if (in_.peek() == '\\') {
        if (in_.peek(1) != '/') text += '\\';
        in_.advance();
      } else if (in_.peek() == '[') {
        is_in_set = true;
      } else if (in_.peek() == ']') {
        is_in_set = false;
      }
      text += in_.peek();
      in_.advance();
    }
    if (!in_.take("/")) in_.fail("a pattern without its closing '/'");
    RegexSyntax syntax;
    while (in_.peek() >= 'a' && in_.peek() <= 'z') {
      const char flag = in_.peek();
      in_.advance();
      if (flag == 'i')
        syntax.any_case = true;
      else if (flag == 's')
        syntax.dot_is_all = true;
      else if (flag != 'u')
        in_.refuse(std::string("the flag '") + flag + "' of a pattern");
    }
    if (in_.has_failed()) return {};
    auto regex = parse_regex(text, syntax);
    if (!regex) {
      in_.keep(regex.error());
      return {};
    }
    if (has_ends(*regex)) in_.refuse("a pattern with '^' or '$'");
    return of_regex(std::move(*regex));
  }

  // Terminals are no recursion.
  void check_terminals() {
    enum class Mark { kOpen, kDone };
    std::map<std::string, Mark> marks;
    const auto visit = [&](const auto& self, const std::string& name, size_t depth) -> void {
      const auto rule = rules_.rules().find(name);
      if (rule == rules_.rules().end() || in_.has_failed()) return;
      const auto [at, is_new] = marks.emplace(name, Mark::kOpen);
      if (!is_new) {
        if (at->second == Mark::kOpen) in_.fail("the terminal '" + name + "' contains itself");
        return;
      }
      if (depth > kMostNesting) return in_.refuse("nesting of more than 200 terminals");
      const auto look = [&](const auto& again, const Expression& expression) -> void {
        if (expression.kind == Expression::Kind::kRule) self(self, expression.rule, depth + 1);
        for (const Expression& part : expression.parts) again(again, part);
      };
      look(look, rule->second);
      marks[name] = Mark::kDone;
    };
    for (const auto& [name, right] : rules_.rules())
      if (is_terminal(name)) visit(visit, name, 0);
  }

  Cursor in_;
  RuleSet rules_;
  std::vector<Expression> ignored_;
  bool is_in_terminal_ = false;
  size_t depth_ = 0;
};

}  // namespace

Result<GrammarPtr> from_lark(std::string_view text) {
  if (Status status = check_grammar_text(text); !status) return status.error();
  return LarkReader(text).read();
}

}  // namespace pando::grammar
