#include "text/grammar/schema_compiler.h"

#include <algorithm>

#include "text/grammar/json_rules.h"
#include "text/grammar/limits.h"
#include "text/grammar/schema_conflict.h"
#include "text/grammar/schema_proofs.h"

namespace pando::grammar {

Result<GrammarPtr> SchemaCompiler::compile(std::vector<std::string>* warnings) {
  rule_of({document_.root()});
  if (Status status = fill_rules(); !status) return status.error();
  Result<GrammarPtr> grammar = builder_.finish();
  if (grammar && warnings != nullptr) *warnings = document_.warnings();
  if (grammar || grammar.error().code != ErrorCode::kInvalidArgument) return grammar;
  const std::string places = conflict({document_.root()});
  if (places.empty()) return grammar;
  return invalid_argument("no text fits the schema: {}", places);
}

Status SchemaCompiler::fill_rules() {
  while (!todo_.empty() && !document_.has_failed()) {
    const auto [rule, schemas] = std::move(todo_.front());
    todo_.pop_front();
    fill(rule, schemas);
    document_.work();
    if (builder_.is_too_large() || builder_.n_rules() > kMostRules) break;
  }
  if (document_.has_failed()) return document_.error();
  return {};
}

std::string SchemaCompiler::conflict(const Parts& schemas) {
  const std::vector<bool> has_text = builder_.has_text();
  return conflict_of(schemas, &cases_, &document_, [&](const Parts& parts) {
    const auto rule = rules_.find(parts);
    return rule != rules_.end() ? !has_text[rule->second] : is_never(parts);
  });
}

SchemaCompiler::Rule SchemaCompiler::rule_of(const Parts& schemas) {
  const auto [at, is_new] = rules_.try_emplace(schemas, 0);
  if (is_new) {
    at->second = builder_.add_rule();
    todo_.emplace_back(at->second, schemas);
  }
  return at->second;
}

void SchemaCompiler::fill(Rule rule, const Parts& schemas) {
  const std::vector<Parts> cases = cases_.of(schemas);
  for (const Parts& parts : cases) {
    if (document_.has_failed()) return;
    if (cases.size() == 1) {
      add_case(parts, builder_.start(rule), builder_.end(rule));
      return;
    }
    // Each case is a rule of its own: the automaton of all would be their product.
    const auto [at, is_new] = case_rules_.try_emplace(parts, 0);
    if (is_new) {
      at->second = builder_.add_rule();
      add_case(parts, builder_.start(at->second), builder_.end(at->second));
    }
    builder_.call(builder_.start(rule), at->second, builder_.end(rule));
  }
}

void SchemaCompiler::add_case(const Parts& parts, State from, State to) {
  const SchemaFacts facts(parts, &document_);
  if (document_.has_failed()) return;
  if (facts.values) return add_values(facts, from, to);
  add_types(facts, from, to);
}

void SchemaCompiler::add_types(const SchemaFacts& facts, State from, State to) {
  for (const Json* value : facts.not_values)
    if (value->is_structured() && (facts.types & type_of(*value)))
      return document_.refuse(facts.parts[0],
                              "an 'enum' or 'const' with an array or object inside 'not'");
  if (facts.types & kNull && !facts.is_not_value(nullptr))
    builder_.empty(builder_.text(from, "null"), to);
  if (facts.types & kBoolean)
    for (const bool value : {false, true})
      if (!facts.is_not_value(value))
        builder_.empty(builder_.text(from, value ? "true" : "false"), to);
  if (facts.types & (kInteger | kFraction)) add_numbers(facts, from, to);
  if (facts.types & kString) add_strings(facts, from, to);
  if (facts.types & kArray) add_arrays(facts, from, to);
  if (facts.types & kObject) add_objects(facts, from, to);
}

void SchemaCompiler::add_values(const SchemaFacts& facts, State from, State to) {
  for (const Json* value : *facts.values) {
    document_.work();
    if (document_.has_failed()) return;
    if (is_valid(*value, facts)) builder_.empty(builder_.text(from, compact_text(*value)), to);
  }
}

bool SchemaCompiler::is_valid(const Json& value, const SchemaFacts& facts) {
  return meets(value, facts, &cases_, &document_);
}

SchemaCompiler::Rule SchemaCompiler::integer() {
  if (!integer_) {
    integer_ = builder_.add_rule();
    const Regex texts =
        builder_.style().has_short_numbers ? short_integer_texts() : integer_texts();
    builder_.empty(builder_.regex(builder_.start(*integer_), texts, Encoding::kUtf8),
                   builder_.end(*integer_));
  }
  return *integer_;
}

SchemaCompiler::Rule SchemaCompiler::number() {
  if (!number_) {
    number_ = builder_.add_rule();
    const Regex texts = builder_.style().has_short_numbers ? short_number_texts() : number_texts();
    builder_.empty(builder_.regex(builder_.start(*number_), texts, Encoding::kUtf8),
                   builder_.end(*number_));
  }
  return *number_;
}

void SchemaCompiler::add_numbers(const SchemaFacts& facts, State from, State to) {
  const bool has_not =
      std::any_of(facts.not_values.begin(), facts.not_values.end(),
                  [](const Json* value) { return type_of(*value) & (kInteger | kFraction); });
  if (!has_not && !facts.has_number_facts() && (facts.types & kInteger))
    return builder_.call(from, facts.types & kFraction ? number() : integer(), to);
  const CharDfa* numbers = numbers_of(facts, &document_);
  if (numbers == nullptr) return;
  if (!builder_.style().has_short_numbers)
    return builder_.automaton(from, *numbers, Encoding::kUtf8, to);
  const Result<CharDfa> are_short = document_.automaton_of(short_number_texts());
  const Result<CharDfa> both = are_short ? document_.both(*numbers, *are_short) : are_short;
  if (!both)
    return document_.exceed(facts.parts[0], "the conditions on numbers are together {}",
                            both.error().message());
  builder_.automaton(from, *both, Encoding::kUtf8, to);
}

static Result<GrammarPtr> compiled(Result<std::unique_ptr<SchemaDocument>> document,
                                   std::vector<std::string>* warnings) {
  if (!document) return std::move(document).error();
  Builder builder;
  return SchemaCompiler(document->get(), &builder).compile(warnings);
}

Result<GrammarPtr> from_json_schema(std::string_view schema, std::vector<std::string>* warnings) {
  return compiled(SchemaDocument::parse(schema), warnings);
}

Result<GrammarPtr> from_json_schema(const JsonValue& schema, std::vector<std::string>* warnings) {
  return compiled(SchemaDocument::of(schema), warnings);
}

}  // namespace pando::grammar
