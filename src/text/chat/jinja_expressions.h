// The parser of expressions, on which that of statements stands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/chat/jinja_ast.h"
#include "text/chat/jinja_lexer.h"

namespace pando::jinja {

class ExpressionParser {
 protected:
  explicit ExpressionParser(std::vector<Lexeme> tokens) : tokens_(std::move(tokens)) {}

  const Lexeme& peek(size_t ahead = 0) const;
  Lexeme next();
  size_t position() const { return at_; }
  void rewind(size_t position) { at_ = position; }
  bool skip_operator(std::string_view sign);
  bool skip_name(std::string_view name);
  Lexeme expect(TokenKind kind, std::string_view what);
  void expect_operator(std::string_view sign);
  [[noreturn]] void fail_here(std::string message) const;
  void check_names() const;  // throws what was wrong with the first unknown filter or test

  // `end` is a name that ends it, as `in` does a loop's target. Without a comma the expression
  // alone.
  ExprPtr parse_tuple(std::string_view end, bool with_if = true, bool in_parentheses = false);
  ExprPtr parse_target(std::string_view end, bool with_fields = false);
  ExprPtr parse_expression(bool with_if = true);
  // The chain of filters that stands here, on `of`, which may be null.
  ExprPtr parse_filters(ExprPtr of, bool first_without_pipe = false);

  // Inside of an `if` an unknown filter or test is an error only where it is used.
  class Soft {
   public:
    Soft(ExpressionParser& parser, bool soft) : parser_(parser), before_(parser.soft_) {
      parser.soft_ = soft;
    }
    ~Soft() { parser_.soft_ = before_; }
    Soft(const Soft&) = delete;
    Soft& operator=(const Soft&) = delete;

   private:
    ExpressionParser& parser_;
    bool before_;
  };

  class Deeper {
   public:
    explicit Deeper(ExpressionParser& parser);
    ~Deeper() { --parser_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    ExpressionParser& parser_;
  };

 private:
  ExprPtr make(ExprKind kind, int line, std::vector<ExprPtr> items = {}) const;
  ExprPtr make_binary(ExprKind kind, int line, ExprPtr a, ExprPtr b) const;
  ExprPtr make_constant(Value value, int line) const;
  void grow(Expr& expr, const Expr* by) const;
  void own(Expr& expr, std::unique_ptr<Arguments> arguments) const;
  bool at_tuple_end(std::string_view end) const;

  ExprPtr parse_or();
  ExprPtr parse_and();
  ExprPtr parse_not();
  ExprPtr parse_compare();
  ExprPtr parse_sum();
  ExprPtr parse_concat();
  ExprPtr parse_product();
  ExprPtr parse_power();
  ExprPtr parse_unary(bool with_filters = true);
  ExprPtr parse_primary(bool with_fields = false);
  ExprPtr parse_name(bool with_fields);
  ExprPtr parse_number();
  ExprPtr parse_list();
  ExprPtr parse_dict();
  ExprPtr parse_postfix(ExprPtr node);
  ExprPtr parse_filter_expression(ExprPtr node);
  ExprPtr parse_dot(ExprPtr node);
  ExprPtr parse_subscript(ExprPtr node);
  ExprPtr parse_subscribed(ExprPtr node);
  ExprPtr parse_call(ExprPtr node);
  ExprPtr parse_test(ExprPtr node);
  std::unique_ptr<Arguments> parse_arguments();
  std::string parse_dotted_name(std::string_view what);
  void check_assignable(const Expr& target) const;

  const std::vector<Lexeme> tokens_;
  size_t at_ = 0;
  std::vector<JinjaError> unknown_;  // filters and tests
  int depth_ = 0;
  bool soft_ = false;
};

}  // namespace pando::jinja
