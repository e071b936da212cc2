// Grammars of one expression or of a list of texts.
#include "base/errors.h"
#include "text/grammar/builder.h"
#include "text/utf8.h"

namespace pando::grammar {

Result<GrammarPtr> from_regex(std::string_view pattern) {
  const auto regex = parse_regex(pattern);
  if (!regex) return regex.error();
  const auto dfa = CharDfa::of(*regex);
  if (!dfa) return unsupported("the pattern is {}", dfa.error().message());
  if (dfa->is_empty()) return invalid_argument("no text fits the pattern '{}'", pattern);
  Builder builder;
  const Builder::Rule rule = builder.add_rule();
  builder.automaton(builder.start(rule), *dfa, Encoding::kUtf8, builder.end(rule));
  return builder.finish();
}

Result<GrammarPtr> from_choices(std::span<const std::string> choices) {
  if (choices.empty()) return invalid_argument("no choices, expected at least one");
  Builder builder;
  const Builder::Rule rule = builder.add_rule();
  for (size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].empty()) return invalid_argument("choice {} is empty, expected a text", i);
    if (find_invalid_utf8(choices[i])) return invalid_argument("choice {} is not UTF-8", i);
    builder.empty(builder.text(builder.start(rule), choices[i]), builder.end(rule));
  }
  return builder.finish();
}

}  // namespace pando::grammar
