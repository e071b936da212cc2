// The steps that a tokenizer.json states behind its model, and what all its steps have in common.
#pragma once

#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/special_tokens.h"

namespace pando {

// The tokens that are put around a text, and the forms of one text and of a pair.
struct PostProcessor {
  std::vector<Token> before;
  std::vector<Token> after;
  TextTemplates templates;
};
Result<PostProcessor> read_post_processor(const JsonPlace& place, const Vocab& vocab);

// Shared by these.

constexpr size_t kMostSteps = 64;  // of a field: each step of a pre-tokenizer calls the next
// The steps of a field in order: the elements of a Sequence (under `list`), else the field alone.
Result<std::vector<JsonPlace>> steps_of(const JsonPlace& place, std::string_view list);
// {"String": text} or {"Regex": expression}
Result<SplitPattern> read_pattern(const JsonPlace& place);
// True if a pattern is a literal text, or an expression without any operator.
bool is_text_pattern(const JsonPlace& pattern);
// {"pattern": from, "content": to}. The pattern must be a text (is_text_pattern).
Result<normal::Replace> read_replace(const JsonPlace& place);
// Newer files say prepend_scheme, older ones add_prefix_space.
Result<pre::Metaspace> read_metaspace(const JsonPlace& place);

}  // namespace pando
