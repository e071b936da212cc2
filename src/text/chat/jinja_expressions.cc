#include "text/chat/jinja_expressions.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "text/chat/jinja_parser.h"

namespace pando::jinja {

ExpressionParser::Deeper::Deeper(ExpressionParser& parser) : parser_(parser) {
  if (++parser.depth_ <= kDeepestSource) return;
  --parser.depth_;
  parser.fail_here(fmt::format("the template is nested deeper than {}", kDeepestSource));
}

const Lexeme& ExpressionParser::peek(size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}
Lexeme ExpressionParser::next() {
  const Lexeme& token = peek();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}
bool ExpressionParser::skip_operator(std::string_view sign) {
  if (!peek().is_operator(sign)) return false;
  next();
  return true;
}
bool ExpressionParser::skip_name(std::string_view name) {
  if (!peek().is_name(name)) return false;
  next();
  return true;
}
void ExpressionParser::fail_here(std::string message) const {
  fail_at(peek().line, std::move(message));
}
Lexeme ExpressionParser::expect(TokenKind kind, std::string_view what) {
  if (peek().kind != kind) fail_here(fmt::format("expected {}, got '{}'", what, describe(peek())));
  return next();
}
void ExpressionParser::expect_operator(std::string_view sign) {
  if (!skip_operator(sign))
    fail_here(fmt::format("expected '{}', got '{}'", sign, describe(peek())));
}

void ExpressionParser::check_names() const {
  if (!unknown_.empty()) throw unknown_[0];
}

void ExpressionParser::grow(Expr& expr, const Expr* by) const {
  if (by != nullptr) {
    expr.depth = std::max(expr.depth, by->depth + 1);
    expr.folds = expr.folds || by->folds;
  }
  if (expr.depth > kDeepestExpression)
    fail_at(expr.line, fmt::format("an expression is nested deeper than {}", kDeepestExpression));
}
void ExpressionParser::own(Expr& expr, std::unique_ptr<Arguments> arguments) const {
  for (const ExprPtr& one : arguments->positional) grow(expr, one.get());
  for (const auto& [name, one] : arguments->named) grow(expr, one.get());
  grow(expr, arguments->list.get());
  grow(expr, arguments->dict.get());
  expr.args = std::move(arguments);
}
ExprPtr ExpressionParser::make(ExprKind kind, int line, std::vector<ExprPtr> items) const {
  ExprPtr expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->line = line;
  expr->items = std::move(items);
  for (const ExprPtr& item : expr->items) grow(*expr, item.get());
  return expr;
}
ExprPtr ExpressionParser::make_binary(ExprKind kind, int line, ExprPtr a, ExprPtr b) const {
  std::vector<ExprPtr> items;
  items.push_back(std::move(a));
  items.push_back(std::move(b));
  return make(kind, line, std::move(items));
}
ExprPtr ExpressionParser::make_constant(Value value, int line) const {
  ExprPtr expr = make(ExprKind::kConst, line);
  expr->value = std::move(value);
  return expr;
}

bool ExpressionParser::at_tuple_end(std::string_view end) const {
  const Lexeme& token = peek();
  return token.kind == TokenKind::kVariableEnd || token.kind == TokenKind::kBlockEnd ||
         token.is_operator(")") || (!end.empty() && token.is_name(end));
}

ExprPtr ExpressionParser::parse_tuple(std::string_view end, bool with_if, bool in_parentheses) {
  const int line = peek().line;
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  while (true) {
    if (!items.empty()) expect_operator(",");
    if (at_tuple_end(end)) break;
    items.push_back(parse_expression(with_if));
    if (!peek().is_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return std::move(items[0]);
  if (!is_tuple && !in_parentheses)
    fail_here(fmt::format("expected an expression, got '{}'", describe(peek())));
  return make(ExprKind::kTuple, line, std::move(items));
}

void ExpressionParser::check_assignable(const Expr& target) const {
  if (target.kind == ExprKind::kField) return;
  if (target.kind == ExprKind::kTuple) {
    for (const ExprPtr& item : target.items) check_assignable(*item);
    return;
  }
  constexpr std::string_view kReserved[] = {"true", "false", "none", "True", "False", "None"};
  if (target.kind != ExprKind::kName ||
      std::find(std::begin(kReserved), std::end(kReserved), target.name) != std::end(kReserved))
    fail_at(target.line, "expected a name to assign to");
}

ExprPtr ExpressionParser::parse_target(std::string_view end, bool with_fields) {
  const int line = peek().line;
  const Deeper deeper(*this);
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  while (true) {
    if (!items.empty()) expect_operator(",");
    if (at_tuple_end(end)) break;
    items.push_back(parse_primary(with_fields));
    if (!peek().is_operator(",")) break;
    is_tuple = true;
  }
  if (items.empty()) fail_here(fmt::format("expected a name, got '{}'", describe(peek())));
  ExprPtr target = is_tuple ? make(ExprKind::kTuple, line, std::move(items)) : std::move(items[0]);
  check_assignable(*target);
  return target;
}

ExprPtr ExpressionParser::parse_expression(bool with_if) {
  const Deeper deeper(*this);
  if (!with_if) return parse_or();
  const int line = peek().line;
  const size_t n_unknown = unknown_.size();
  ExprPtr value = parse_or();
  // Unknown filters in an `if` are no error yet.
  if (peek().is_name("if")) unknown_.resize(n_unknown);
  while (skip_name("if")) {
    const Soft soft(*this, true);
    std::vector<ExprPtr> items;
    items.push_back(std::move(value));
    items.push_back(parse_or());
    items.push_back(skip_name("else") ? parse_expression() : nullptr);
    value = make(ExprKind::kIf, line, std::move(items));
  }
  return value;
}

ExprPtr ExpressionParser::parse_or() {
  ExprPtr left = parse_and();
  for (int line = peek().line; skip_name("or"); line = peek().line)
    left = make_binary(ExprKind::kOr, line, std::move(left), parse_and());
  return left;
}

ExprPtr ExpressionParser::parse_and() {
  ExprPtr left = parse_not();
  for (int line = peek().line; skip_name("and"); line = peek().line)
    left = make_binary(ExprKind::kAnd, line, std::move(left), parse_not());
  return left;
}

ExprPtr ExpressionParser::parse_not() {
  const int line = peek().line;
  if (!skip_name("not")) return parse_compare();
  const Deeper deeper(*this);
  std::vector<ExprPtr> items;
  items.push_back(parse_not());
  return make(ExprKind::kNot, line, std::move(items));
}

ExprPtr ExpressionParser::parse_compare() {
  static constexpr std::pair<std::string_view, CompareOp> kSigns[] = {
      {"==", CompareOp::kEq}, {"!=", CompareOp::kNe}, {"<", CompareOp::kLt},
      {"<=", CompareOp::kLe}, {">", CompareOp::kGt},  {">=", CompareOp::kGe}};
  const int line = peek().line;
  std::vector<ExprPtr> items;
  std::vector<CompareOp> ops;
  items.push_back(parse_sum());
  while (true) {
    const auto* sign = std::find_if(std::begin(kSigns), std::end(kSigns),
                                    [&](const auto& s) { return peek().is_operator(s.first); });
    if (sign != std::end(kSigns)) {
      next();
      ops.push_back(sign->second);
    } else if (skip_name("in")) {
      ops.push_back(CompareOp::kIn);
    } else if (peek().is_name("not") && peek(1).is_name("in")) {
      next();
      next();
      ops.push_back(CompareOp::kNotIn);
    } else {
      break;
    }
    items.push_back(parse_sum());
  }
  if (ops.empty()) return std::move(items[0]);
  ExprPtr expr = make(ExprKind::kCompare, line, std::move(items));
  expr->ops = std::move(ops);
  return expr;
}

ExprPtr ExpressionParser::parse_sum() {
  ExprPtr left = parse_concat();
  while (peek().is_operator("+") || peek().is_operator("-")) {
    const Lexeme sign = next();
    left = make_binary(sign.text == "+" ? ExprKind::kAdd : ExprKind::kSubtract, sign.line,
                       std::move(left), parse_concat());
  }
  return left;
}

ExprPtr ExpressionParser::parse_concat() {
  const int line = peek().line;
  std::vector<ExprPtr> items;
  items.push_back(parse_product());
  while (skip_operator("~")) items.push_back(parse_product());
  if (items.size() == 1) return std::move(items[0]);
  return make(ExprKind::kConcat, line, std::move(items));
}

ExprPtr ExpressionParser::parse_product() {
  static constexpr std::pair<std::string_view, ExprKind> kSigns[] = {{"*", ExprKind::kMultiply},
                                                                     {"/", ExprKind::kDivide},
                                                                     {"//", ExprKind::kFloorDivide},
                                                                     {"%", ExprKind::kModulo}};
  ExprPtr left = parse_power();
  while (true) {
    const auto* sign = std::find_if(std::begin(kSigns), std::end(kSigns),
                                    [&](const auto& s) { return peek().is_operator(s.first); });
    if (sign == std::end(kSigns)) return left;
    const int line = next().line;
    left = make_binary(sign->second, line, std::move(left), parse_power());
  }
}

ExprPtr ExpressionParser::parse_power() {
  ExprPtr left = parse_unary();
  while (peek().is_operator("**")) {
    const int line = next().line;
    left = make_binary(ExprKind::kPower, line, std::move(left), parse_unary());
  }
  return left;
}

ExprPtr ExpressionParser::parse_unary(bool with_filters) {
  const Lexeme& token = peek();
  ExprPtr node;
  if (token.is_operator("-") || token.is_operator("+")) {
    const Deeper deeper(*this);
    const Lexeme sign = next();
    std::vector<ExprPtr> items;
    items.push_back(parse_unary(false));
    node = make(sign.text == "-" ? ExprKind::kNegative : ExprKind::kPositive, sign.line,
                std::move(items));
  } else {
    node = parse_primary();
  }
  node = parse_postfix(std::move(node));
  return with_filters ? parse_filter_expression(std::move(node)) : std::move(node);
}

ExprPtr ExpressionParser::parse_name(bool with_fields) {
  const Lexeme token = next();
  const std::string& name = token.text;
  if (name == "true" || name == "True") return make_constant(Value::boolean(true), token.line);
  if (name == "false" || name == "False") return make_constant(Value::boolean(false), token.line);
  if (name == "none" || name == "None") return make_constant(Value::none(), token.line);
  ExprPtr expr = make(ExprKind::kName, token.line);
  expr->name = name;
  if (!with_fields || !peek().is_operator(".")) return expr;
  next();
  std::vector<ExprPtr> items;
  items.push_back(std::move(expr));
  ExprPtr field = make(ExprKind::kField, token.line, std::move(items));
  field->name = expect(TokenKind::kName, "the name of a field").text;
  return field;
}

ExprPtr ExpressionParser::parse_number() {
  const Lexeme token = next();
  std::string text = token.text;
  if (token.kind == TokenKind::kFloat) {
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    if (value == 0 && text.find_first_of("123456789") < text.find_first_of("eE"))
      value = std::strtod(text.c_str(), nullptr);  // beyond all doubles, or below
    return make_constant(Value::real(value), token.line);
  }
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] | 0x20) >= 'a') {
    base = (text[1] | 0x20) == 'x' ? 16 : (text[1] | 0x20) == 'o' ? 8 : 2;
    text.erase(0, 2);
  }
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc())
    fail_at(token.line, fmt::format("the number {} has more than 64 bits", token.text));
  return make_constant(Value::integer(value), token.line);
}

ExprPtr ExpressionParser::parse_primary(bool with_fields) {
  const Lexeme& token = peek();
  if (token.kind == TokenKind::kName) return parse_name(with_fields);
  if (token.kind == TokenKind::kInteger || token.kind == TokenKind::kFloat) return parse_number();
  if (token.kind == TokenKind::kString) {
    const int line = token.line;
    std::string text;
    while (peek().kind == TokenKind::kString) text += next().text;
    return make_constant(make_string(std::move(text)), line);
  }
  const Deeper deeper(*this);
  if (skip_operator("(")) {
    ExprPtr inside = parse_tuple({}, /*with_if=*/true, /*in_parentheses=*/true);
    expect_operator(")");
    return inside;
  }
  if (token.is_operator("[")) return parse_list();
  if (token.is_operator("{")) return parse_dict();
  fail_here(fmt::format("unexpected '{}'", describe(token)));
}

ExprPtr ExpressionParser::parse_list() {
  const int line = next().line;
  std::vector<ExprPtr> items;
  while (!peek().is_operator("]")) {
    if (!items.empty()) expect_operator(",");
    if (peek().is_operator("]")) break;
    items.push_back(parse_expression());
  }
  next();
  return make(ExprKind::kList, line, std::move(items));
}

ExprPtr ExpressionParser::parse_dict() {
  const int line = next().line;
  std::vector<ExprPtr> items;
  while (!peek().is_operator("}")) {
    if (!items.empty()) expect_operator(",");
    if (peek().is_operator("}")) break;
    items.push_back(parse_expression());
    expect_operator(":");
    items.push_back(parse_expression());
  }
  next();
  return make(ExprKind::kDict, line, std::move(items));
}

}  // namespace pando::jinja
