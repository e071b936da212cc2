// Lines of a batch, read from texts.
#pragma once

#include <memory>
#include <string_view>

#include "ask/line.h"
#include "base/errors.h"
#include "base/json.h"

namespace pando::testing {

inline Result<std::unique_ptr<ask::Line>> parse_line(std::string_view text, uint64_t number,
                                                     const AnswerOptions& defaults = {}) {
  const Result<Json> json = parse_json(text);
  if (!json) return invalid_argument("{}", json.error().message());
  const BatchOptions options{.defaults = defaults};
  const Result<EmbedOptions> embed = EmbedOptions();
  return ask::read_answer_line(*json, {.number = number, .options = options, .embed = embed});
}

}  // namespace pando::testing
