// Tokens as a tree. Names have no places yet: jinja_scope.h gives them.
#pragma once

#include <string_view>

#include "text/chat/jinja_ast.h"

namespace pando::jinja {

// Throws JinjaError with the line.
Body parse_template(std::string_view text);

// Deepest nesting in the source of a template, and in the tree of an expression.
constexpr int kDeepestSource = 120;
constexpr int kDeepestExpression = 400;

}  // namespace pando::jinja
