// Parser of the suffixes of a value: fields, subscripts, calls, filters, tests.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "text/chat/jinja_call.h"
#include "text/chat/jinja_expressions.h"

namespace pando::jinja {
namespace {

// a, a.b, a[0], a(x), a|f, and so on.
bool is_field_of_variable(const Expr& expr) {
  const Expr* at = &expr;
  while (at->kind == ExprKind::kAttr || at->kind == ExprKind::kItem ||
         at->kind == ExprKind::kSlice || at->kind == ExprKind::kCall ||
         at->kind == ExprKind::kFilter)
    at = at->items[0].get();
  return at->kind == ExprKind::kName;
}

}  // namespace

ExprPtr ExpressionParser::parse_postfix(ExprPtr node) {
  while (true) {
    if (peek().is_operator(".")) {
      node = parse_dot(std::move(node));
    } else if (peek().is_operator("[")) {
      node = parse_subscript(std::move(node));
    } else if (peek().is_operator("(")) {
      node = parse_call(std::move(node));
    } else {
      return node;
    }
  }
}

ExprPtr ExpressionParser::parse_filter_expression(ExprPtr node) {
  while (true) {
    if (peek().is_operator("|")) {
      node = parse_filters(std::move(node));
    } else if (peek().is_name("is")) {
      node = parse_test(std::move(node));
    } else if (peek().is_operator("(")) {
      node = parse_call(std::move(node));
    } else {
      return node;
    }
  }
}

ExprPtr ExpressionParser::parse_dot(ExprPtr node) {
  const int line = next().line;
  const Lexeme token = peek();
  if (token.kind == TokenKind::kInteger) {
    ExprPtr index = parse_number();
    return make_binary(ExprKind::kItem, line, std::move(node), std::move(index));
  }
  std::vector<ExprPtr> items;
  items.push_back(std::move(node));
  ExprPtr expr = make(ExprKind::kAttr, line, std::move(items));
  expr->name = expect(TokenKind::kName, "a name or a number after '.'").text;
  expr->value = make_string(expr->name);
  return expr;
}

ExprPtr ExpressionParser::parse_subscript(ExprPtr node) {
  const Deeper deeper(*this);
  const int line = next().line;
  if (peek().is_operator("]")) {  // Python's empty tuple
    next();
    return make_binary(ExprKind::kItem, line, std::move(node), make(ExprKind::kTuple, line));
  }
  ExprPtr first = parse_subscribed(std::move(node));
  if (skip_operator("]")) return first;
  if (first->kind == ExprKind::kSlice) fail_here("a tuple of slices is not supported");
  std::vector<ExprPtr> keys;
  keys.push_back(std::move(first->items[1]));
  while (skip_operator(",")) keys.push_back(parse_expression());
  expect_operator("]");
  first->items[1] = make(ExprKind::kTuple, line, std::move(keys));
  grow(*first, first->items[1].get());
  return first;
}

ExprPtr ExpressionParser::parse_subscribed(ExprPtr node) {
  const int line = peek().line;
  const auto at_end = [&] { return peek().is_operator("]") || peek().is_operator(","); };
  ExprPtr begin, end, step;
  if (!peek().is_operator(":")) {
    begin = parse_expression();
    if (!peek().is_operator(":"))
      return make_binary(ExprKind::kItem, line, std::move(node), std::move(begin));
  }
  next();
  if (!peek().is_operator(":") && !at_end()) end = parse_expression();
  if (skip_operator(":") && !at_end()) step = parse_expression();
  std::vector<ExprPtr> items;
  const bool is_of_variable = is_field_of_variable(*node);
  for (ExprPtr* item : {&node, &begin, &end, &step}) items.push_back(std::move(*item));
  ExprPtr slice = make(ExprKind::kSlice, line, std::move(items));
  slice->folds = slice->folds || !is_of_variable;
  return slice;
}

std::unique_ptr<Arguments> ExpressionParser::parse_arguments() {
  const Deeper deeper(*this);
  const int line = peek().line;
  auto args = std::make_unique<Arguments>();
  const auto ensure = [&](bool holds) {
    if (!holds) fail_at(line, "the arguments of a call are out of order");
  };
  expect_operator("(");
  for (bool first = true; !peek().is_operator(")"); first = false) {
    if (!first) expect_operator(",");
    if (peek().is_operator(")")) break;
    if (skip_operator("*")) {
      ensure(!args->list && !args->dict);
      args->list = parse_expression();
    } else if (skip_operator("**")) {
      ensure(!args->dict);
      args->dict = parse_expression();
    } else if (peek().kind == TokenKind::kName && peek(1).is_operator("=")) {
      ensure(!args->dict);
      std::string name = next().text;
      next();
      for (const auto& [other, value] : args->named)
        if (other == name) fail_here(fmt::format("the argument '{}' is given twice", name));
      args->named.emplace_back(std::move(name), parse_expression());
    } else {
      ensure(!args->list && !args->dict && args->named.empty());
      args->positional.push_back(parse_expression());
    }
  }
  next();
  return args;
}

ExprPtr ExpressionParser::parse_call(ExprPtr node) {
  std::vector<ExprPtr> items;
  const int line = peek().line;
  items.push_back(std::move(node));
  ExprPtr call = make(ExprKind::kCall, line, std::move(items));
  own(*call, parse_arguments());
  return call;
}

std::string ExpressionParser::parse_dotted_name(std::string_view what) {
  std::string name = expect(TokenKind::kName, what).text;
  while (skip_operator(".")) name += '.' + expect(TokenKind::kName, what).text;
  return name;
}

ExprPtr ExpressionParser::parse_filters(ExprPtr of, bool first_without_pipe) {
  while (first_without_pipe || peek().is_operator("|")) {
    if (!first_without_pipe) next();
    first_without_pipe = false;
    const int line = peek().line;
    std::vector<ExprPtr> items;
    items.push_back(std::move(of));
    of = make(ExprKind::kFilter, line, std::move(items));
    of->name = parse_dotted_name("the name of a filter");
    of->filter = find_filter(of->name);
    if (of->filter == nullptr && !soft_)
      unknown_.push_back({fmt::format("no filter named '{}' (known: {})", of->name,
                                      fmt::join(filter_names(), ", ")),
                          line});
    own(*of, peek().is_operator("(") ? parse_arguments() : std::make_unique<Arguments>());
  }
  return of;
}

ExprPtr ExpressionParser::parse_test(ExprPtr node) {
  const int line = next().line;
  const bool negated = skip_name("not");
  std::vector<ExprPtr> items;
  items.push_back(std::move(node));
  ExprPtr test = make(ExprKind::kTest, line, std::move(items));
  test->name = parse_dotted_name("the name of a test");
  test->test = find_test(test->name);
  if (test->test == nullptr && !soft_)
    unknown_.push_back(
        {fmt::format("no test named '{}' (known: {})", test->name, fmt::join(test_names(), ", ")),
         line});
  auto args = std::make_unique<Arguments>();
  const Lexeme& token = peek();
  if (token.is_operator("(")) {
    args = parse_arguments();
  } else if ((token.kind == TokenKind::kName || token.kind == TokenKind::kString ||
              token.kind == TokenKind::kInteger || token.kind == TokenKind::kFloat ||
              token.is_operator("[") || token.is_operator("{")) &&
             !token.is_name("else") && !token.is_name("or") && !token.is_name("and")) {
    if (token.is_name("is")) fail_here("tests with 'is' cannot be chained");
    args->positional.push_back(parse_postfix(parse_primary()));
  }
  own(*test, std::move(args));
  if (!negated) return test;
  items.clear();
  items.push_back(std::move(test));
  return make(ExprKind::kNot, line, std::move(items));
}

}  // namespace pando::jinja
