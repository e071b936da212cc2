#include "text/chat/jinja.h"

#include <algorithm>

#include "base/errors.h"
#include "text/chat/jinja_eval.h"
#include "text/chat/jinja_parser.h"
#include "text/chat/jinja_scope.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace pando::jinja {

Result<Template> Template::compile(std::string_view text) {
  if (const auto at = find_invalid_utf8(text))
    return unsupported("the template is not valid UTF-8 at byte {}", *at);
  if (text.size() > (size_t{4} << 20))
    return unsupported("the template has {} bytes, expected at most 4 MiB", text.size());
  try {
    return Template(std::make_shared<const Root>(resolve_names(parse_template(text))));
  } catch (const JinjaError& error) {
    return unsupported("line {}: {}", error.line, error.message);
  }
}

Result<std::string> Template::render(const Variables& variables, const LocalTime& now,
                                     const Limits& limits) const {
  Evaluator evaluator(*root_, variables, limits, now);
  try {
    return evaluator.run();
  } catch (const JinjaError& error) {
    return invalid_argument("line {}: {}", error.line > 0 ? error.line : evaluator.line(),
                            error.message);
  }
}

bool Template::reads(std::string_view name) const {
  return std::binary_search(root_->reads.begin(), root_->reads.end(), name);
}

}  // namespace pando::jinja
