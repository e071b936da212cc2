// The part of Jinja2 that chat templates use, as `transformers` sets it up: an immutable sandbox
// with trim_blocks, lstrip_blocks, loop controls and `generation` blocks, and no automatic
// escaping. docs/chat.md says what differs.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pando/values/chat.h"
#include "pando/values/result.h"
#include "text/chat/jinja_value.h"

namespace pando::jinja {

struct Root;

// Limits of one rendering. A rendering that exceeds one ends with an error that names it.
struct Limits {
  size_t n_steps = 50'000'000;  // expressions, statements and items of loops
  size_t output_bytes = size_t{64} << 20;
  size_t value_bytes = size_t{64} << 20;    // of one value
  size_t memory_bytes = size_t{256} << 20;  // of all values at a time
  int depth = 1500;                         // of expressions, blocks and macros inside each other
};

// Variables of a rendering. The values belong to that template alone while it is rendered.
using Variables = std::vector<std::pair<std::string, Value>>;

// Immutable; any thread may render.
class Template {
 public:
  // kUnsupported, with the line, for text that is no Jinja, or syntax that is not supported.
  static Result<Template> compile(std::string_view text);

  // kInvalidArgument, with the line, if the template raises an error or a limit is exceeded.
  Result<std::string> render(const Variables& variables, const LocalTime& now,
                             const Limits& limits = {}) const;

  // True if the template may read the variable of that name.
  bool reads(std::string_view name) const;

 private:
  explicit Template(std::shared_ptr<const Root> root) : root_(std::move(root)) {}
  std::shared_ptr<const Root> root_;
};

}  // namespace pando::jinja
