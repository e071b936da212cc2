// Strings of a schema.
#include "base/json.h"
#include "text/grammar/json_rules.h"
#include "text/grammar/schema_compiler.h"

namespace pando::grammar {

// Strings with the same conditions share one rule.
void SchemaCompiler::add_strings(const SchemaFacts& facts, State from, State to) {
  std::vector<std::string> excluded;
  for (const Json* value : facts.not_values)
    if (value->is_string()) excluded.push_back(value->get<std::string>());
  if (excluded.empty() && !facts.has_string_facts())
    return builder_.call(from, string_rule(&builder_), to);
  const std::string key = json_text(Json{facts.min_length, facts.max_length, facts.patterns,
                                         facts.not_patterns, facts.formats, excluded});
  const auto [at, is_new] = string_rules_.try_emplace(key, 0);
  if (is_new) {
    at->second = builder_.add_rule();
    if (const CharDfa* texts = strings_of(facts, &document_))
      fill_strings(at->second, *texts, facts.lengths(), facts.parts[0]);
  }
  builder_.call(from, at->second, to);
}

void SchemaCompiler::fill_strings(Rule rule, const CharDfa& texts, Lengths bounds, Node schema) {
  if (bounds.are_any()) return builder_.string(rule, texts);
  if (const auto lengths = document_.lengths_of(texts, bounds, schema))
    builder_.string(rule, texts, *lengths);
}

}  // namespace pando::grammar
