#include "text/chat/jinja_parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/chat/jinja_expressions.h"
#include "text/chat/jinja_lexer.h"

namespace pando::jinja {
namespace {

// Tags of Jinja that need other templates, or extensions that transformers does not turn on.
constexpr std::string_view kOtherTags[] = {"extends", "include", "import", "from",
                                           "do",      "trans",   "debug"};

class TemplateParser : ExpressionParser {
 public:
  explicit TemplateParser(std::string_view text) : ExpressionParser(tokenize(text)) {}

  Body run() {
    Body body = parse_body({});
    check_names();
    return body;
  }

 private:
  using Ends = std::vector<std::string_view>;
  using StmtPtr = std::unique_ptr<Stmt>;

  static StmtPtr make(StmtKind kind, int line) {
    StmtPtr stmt = std::make_unique<Stmt>();
    stmt->kind = kind;
    stmt->line = line;
    return stmt;
  }

  void expect_block_end() { expect(TokenKind::kBlockEnd, "%}"); }

  // Up to one of `ends`, whose name is then the next token; without ends all of the template.
  Body parse_body(const Ends& ends) {
    const Deeper deeper(*this);
    Body body;
    while (true) {
      const Lexeme& token = peek();
      if (token.kind == TokenKind::kEnd) {
        if (ends.empty()) return body;
        fail_here(fmt::format("the template ends, expected '{}'", ends.back()));
      }
      if (token.kind == TokenKind::kData) {
        StmtPtr text = make(StmtKind::kText, token.line);
        text->text = next().text;
        body.push_back(std::move(text));
      } else if (token.kind == TokenKind::kVariableBegin) {
        StmtPtr output = make(StmtKind::kOutput, next().line);
        output->exprs.push_back(parse_tuple({}));
        expect(TokenKind::kVariableEnd, "}}");
        body.push_back(std::move(output));
      } else {
        const Lexeme& name = peek(1);
        next();
        if (std::any_of(ends.begin(), ends.end(),
                        [&](std::string_view end) { return name.is_name(end); }))
          return body;
        body.push_back(parse_statement(ends));
        expect_block_end();
      }
    }
  }

  // The body of a statement, whose head ends here; the end tag's name is taken.
  Body parse_inside(const Ends& ends) {
    skip_operator(":");
    expect_block_end();
    return parse_body(ends);
  }
  Body parse_until(std::string_view end) {
    Body body = parse_inside({end});
    next();
    return body;
  }

  StmtPtr parse_statement(const Ends& ends) {
    const Lexeme token = peek();
    if (token.kind != TokenKind::kName)
      fail_here(fmt::format("expected the name of a tag, got '{}'", describe(token)));
    using Parse = StmtPtr (TemplateParser::*)(int line);
    static constexpr std::pair<std::string_view, Parse> kTags[] = {
        {"if", &TemplateParser::parse_if},
        {"for", &TemplateParser::parse_for},
        {"set", &TemplateParser::parse_set},
        {"macro", &TemplateParser::parse_macro},
        {"call", &TemplateParser::parse_call_block},
        {"filter", &TemplateParser::parse_filter_block},
        {"with", &TemplateParser::parse_with},
        {"generation", &TemplateParser::parse_generation},
        {"block", &TemplateParser::parse_block},
        {"autoescape", &TemplateParser::parse_autoescape},
        {"print", &TemplateParser::parse_print},
        {"break", &TemplateParser::parse_break},
        {"continue", &TemplateParser::parse_continue},
    };
    for (const auto& [name, parse] : kTags) {
      if (token.text != name) continue;
      next();
      return (this->*parse)(token.line);
    }
    if (std::find(std::begin(kOtherTags), std::end(kOtherTags), token.text) != std::end(kOtherTags))
      fail_here(fmt::format("the tag '{}' is not supported in a chat template", token.text));
    fail_here(ends.empty()
                  ? fmt::format("unknown tag '{}'", token.text)
                  : fmt::format("unknown tag '{}', expected '{}'", token.text, ends.back()));
  }

  StmtPtr parse_if(int line) {
    StmtPtr stmt = make(StmtKind::kIf, line);
    const Soft soft(*this, true);  // its conditions and bodies may name unknown filters
    while (true) {
      stmt->exprs.push_back(parse_tuple({}, /*with_if=*/false));
      stmt->bodies.push_back(parse_inside({"elif", "else", "endif"}));
      const Lexeme end = next();
      if (end.text == "elif") continue;
      if (end.text == "else") stmt->bodies.push_back(parse_until("endif"));
      return stmt;
    }
  }

  StmtPtr parse_for(int line) {
    StmtPtr stmt = make(StmtKind::kFor, line);
    const size_t begin = position();
    stmt->target = parse_target("in");
    if (!skip_name("in")) fail_here(fmt::format("expected 'in', got '{}'", describe(peek())));
    stmt->exprs.push_back(parse_tuple("recursive", /*with_if=*/false));
    const Soft hard(*this, false);
    ExprPtr condition;
    if (skip_name("if")) {
      condition = parse_expression();
      const size_t here = position();  // the target once more: the condition has its own frame
      rewind(begin);
      stmt->test_target = parse_target("in");
      rewind(here);
    }
    stmt->exprs.push_back(std::move(condition));
    stmt->recursive = skip_name("recursive");
    {
      const Inside inside(*this, true);
      stmt->bodies.push_back(parse_inside({"else", "endfor"}));
    }
    const Lexeme end = next();
    stmt->bodies.push_back(end.text == "else" ? parse_until("endfor") : Body());
    return stmt;
  }

  StmtPtr parse_set(int line) {
    StmtPtr stmt = make(StmtKind::kSet, line);
    stmt->target = parse_target({}, /*with_fields=*/true);
    if (skip_operator("=")) {
      stmt->exprs.push_back(parse_tuple({}));
      return stmt;
    }
    stmt->kind = StmtKind::kSetBlock;
    const Soft hard(*this, false);
    if (peek().is_operator("|")) stmt->filter = parse_filters(nullptr);
    const Inside outside(*this, in_loop_);
    stmt->bodies.push_back(parse_until("endset"));
    return stmt;
  }

  void parse_signature(MacroShape& macro) {
    expect_operator("(");
    while (!peek().is_operator(")")) {
      if (!macro.parameters.empty()) expect_operator(",");
      Parameter parameter;
      parameter.name = expect(TokenKind::kName, "the name of a parameter").text;
      if (skip_operator("=")) {
        parameter.fallback = parse_expression();
      } else if (!macro.parameters.empty() && macro.parameters.back().fallback) {
        fail_here("a parameter without a default follows one with a default");
      }
      for (const Parameter& other : macro.parameters)
        if (other.name == parameter.name)
          fail_here(fmt::format("the parameter '{}' is given twice", other.name));
      macro.parameters.push_back(std::move(parameter));
    }
    next();
  }

  StmtPtr parse_macro(int line) {
    StmtPtr stmt = make(StmtKind::kMacro, line);
    stmt->macro = std::make_unique<MacroShape>();
    stmt->macro->name = expect(TokenKind::kName, "the name of a macro").text;
    const Soft hard(*this, false);
    parse_signature(*stmt->macro);
    const Inside outside(*this, false);
    stmt->bodies.push_back(parse_until("endmacro"));
    return stmt;
  }

  StmtPtr parse_call_block(int line) {
    StmtPtr stmt = make(StmtKind::kCallBlock, line);
    stmt->macro = std::make_unique<MacroShape>();
    if (peek().is_operator("(")) parse_signature(*stmt->macro);
    stmt->exprs.push_back(parse_expression());
    if (stmt->exprs[0]->kind != ExprKind::kCall) fail_at(line, "expected a call after 'call'");
    const Soft hard(*this, false);
    const Inside outside(*this, false);
    stmt->bodies.push_back(parse_until("endcall"));
    return stmt;
  }

  StmtPtr parse_filter_block(int line) {
    StmtPtr stmt = make(StmtKind::kFilterBlock, line);
    const Soft hard(*this, false);
    stmt->filter = parse_filters(nullptr, /*first_without_pipe=*/true);
    stmt->bodies.push_back(parse_until("endfilter"));
    return stmt;
  }

  StmtPtr parse_with(int line) {
    StmtPtr stmt = make(StmtKind::kWith, line);
    while (peek().kind != TokenKind::kBlockEnd) {
      if (!stmt->targets.empty()) expect_operator(",");
      stmt->targets.push_back(parse_target({}));
      expect_operator("=");
      stmt->exprs.push_back(parse_expression());
    }
    const Soft hard(*this, false);
    stmt->bodies.push_back(parse_until("endwith"));
    return stmt;
  }

  // {% generation %}, with which transformers marks the assistant's text: a scope, and nothing
  // else.
  StmtPtr parse_generation(int line) {
    StmtPtr stmt = make(StmtKind::kScope, line);
    const Soft hard(*this, false);
    const Inside outside(*this, false);
    stmt->bodies.push_back(parse_until("endgeneration"));
    return stmt;
  }

  StmtPtr parse_block(int line) {
    StmtPtr stmt = make(StmtKind::kScope, line);
    const std::string name = expect(TokenKind::kName, "the name of a block").text;
    if (std::find(blocks_.begin(), blocks_.end(), name) != blocks_.end())
      fail_at(line, fmt::format("block '{}' is defined twice", name));
    blocks_.push_back(name);
    stmt->isolated = !skip_name("scoped");
    const Soft hard(*this, false);
    const Inside outside(*this, false);
    stmt->bodies.push_back(parse_until("endblock"));
    skip_name(name);
    return stmt;
  }

  StmtPtr parse_autoescape(int line) {
    StmtPtr stmt = make(StmtKind::kScope, line);
    const ExprPtr on = parse_expression();
    if (on->kind != ExprKind::kConst || truth(on->value))
      fail_at(line, "only 'autoescape false' is supported");
    const Soft hard(*this, false);
    stmt->bodies.push_back(parse_until("endautoescape"));
    return stmt;
  }

  StmtPtr parse_print(int line) {
    StmtPtr stmt = make(StmtKind::kOutput, line);
    while (peek().kind != TokenKind::kBlockEnd) {
      if (!stmt->exprs.empty()) expect_operator(",");
      stmt->exprs.push_back(parse_expression());
    }
    return stmt;
  }

  StmtPtr parse_break(int line) { return parse_jump(StmtKind::kBreak, line); }
  StmtPtr parse_continue(int line) { return parse_jump(StmtKind::kContinue, line); }
  StmtPtr parse_jump(StmtKind kind, int line) {
    if (!in_loop_)
      fail_at(line, fmt::format("'{}' outside of a loop",
                                kind == StmtKind::kBreak ? "break" : "continue"));
    return make(kind, line);
  }

  // Sets whether the statements that are read belong to a loop.
  class Inside {
   public:
    Inside(TemplateParser& parser, bool loop) : parser_(parser), before_(parser.in_loop_) {
      parser.in_loop_ = loop;
    }
    ~Inside() { parser_.in_loop_ = before_; }

   private:
    TemplateParser& parser_;
    bool before_;
  };

  std::vector<std::string> blocks_;
  bool in_loop_ = false;
};

}  // namespace

Body parse_template(std::string_view text) { return TemplateParser(text).run(); }

}  // namespace pando::jinja
