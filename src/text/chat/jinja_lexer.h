// The text of a template as tokens, with the whitespace control of trim_blocks and lstrip_blocks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pando::jinja {

enum class TokenKind {
  kData,
  kVariableBegin,
  kVariableEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Lexeme {
  TokenKind kind;
  int line;
  std::string text;  // of a string: its value

  bool is_name(std::string_view name) const { return kind == TokenKind::kName && text == name; }
  bool is_operator(std::string_view sign) const {
    return kind == TokenKind::kOperator && text == sign;
  }
};

// Ends with kEnd. Throws JinjaError.
std::vector<Lexeme> tokenize(std::string_view template_text);
std::string describe(const Lexeme& token);  // for messages

}  // namespace pando::jinja
