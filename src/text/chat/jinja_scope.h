// Resolves names to variables when a template is compiled, by the rules of Jinja: assignments in
// loops, macros and blocks stay inside; a name that a scope assigns before it reads it does not see
// the variable of the rendering.
#pragma once

#include "text/chat/jinja_ast.h"

namespace pando::jinja {

// Gives every name in `body` its place, and every frame its shape.
Root resolve_names(Body body);

}  // namespace pando::jinja
