// A JSON Schema as rules.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "text/grammar/builder.h"
#include "text/grammar/schema_facts.h"

namespace pando::grammar {

// Compiles a schema to rules: one for each list of schemas that hold together at some place. Used
// once. Borrows both.
class SchemaCompiler {
 public:
  using Rule = Builder::Rule;
  using State = Builder::State;

  SchemaCompiler(SchemaDocument* document, Builder* builder)
      : document_(*document), cases_(document), builder_(*builder) {}
  // Makes a grammar of the schema alone. The builder must be empty. If the schema compiles,
  // `warnings`, unless null, receives those of the document.
  Result<GrammarPtr> compile(std::vector<std::string>* warnings = nullptr);

  // For grammars with the schema as a part.

  // The rule for values that are valid under all of `schemas`. fill_rules() fills it.
  Rule rule_of(const Parts& schemas);
  // Fills all rules that were asked for. The document's error if it refuses the schema.
  Status fill_rules();
  // If no value is valid under all of `schemas`: the places that contradict each other; empty if
  // they are not known. Call it after fill_rules().
  std::string conflict(const Parts& schemas);
  const std::vector<Parts>& cases_of(const Parts& schemas) { return cases_.of(schemas); }
  // Adds the values of a case, except those of "enum" and "const".
  void add_types(const SchemaFacts& facts, State from, State to);
  // True if a value of the case's "enum" or "const" is valid.
  bool is_valid(const Json& value, const SchemaFacts& facts);

  struct Property {
    std::string name;
    Parts schemas;
    bool is_required;
  };
  // Properties of objects under which all of `schemas` hold, in the order of writing. Nothing if no
  // object is valid, or if its validity depends on more than these properties.
  std::optional<std::vector<Property>> members_of(const Parts& schemas);

 private:
  bool is_never(const Parts& schemas) { return cases_.of(schemas).empty(); }
  void fill(Rule rule, const Parts& schemas);
  void add_case(const Parts& parts, State from, State to);
  void add_values(const SchemaFacts& facts, State from, State to);
  void add_numbers(const SchemaFacts& facts, State from, State to);
  Rule integer();
  Rule number();

  // schema_strings.cc
  void add_strings(const SchemaFacts& facts, State from, State to);
  // Fills a new rule with the strings of `texts` within the bounds of `schema`.
  void fill_strings(Rule rule, const CharDfa& texts, Lengths bounds, Node schema);

  // schema_arrays.cc
  void add_arrays(const SchemaFacts& facts, State from, State to);

  // schema_objects.cc
  // Names that are none of a property, and what stands there.
  struct FreeNames {
    Rule key;  // with its quotes
    Parts schemas;
  };
  void add_objects(const SchemaFacts& facts, State from, State to);
  std::vector<std::string> names_of(const SchemaFacts& facts) const;
  struct AllowedNames {
    CharDfa texts;
    Lengths lengths;
    bool have(std::string_view name) const {
      return lengths.contain(characters_of(name).size()) && texts.matches(name);
    }
  };
  // The names that "propertyNames" allows; nothing: all names.
  std::optional<AllowedNames> allowed_names(const SchemaFacts& facts);
  // Nothing if no object is valid, or after a refusal.
  std::optional<std::vector<Property>> properties_of(const SchemaFacts& facts,
                                                     const std::vector<std::string>& names,
                                                     const std::optional<AllowedNames>& allowed);
  std::vector<FreeNames> free_names(const SchemaFacts& facts, const std::vector<std::string>& names,
                                    const std::optional<AllowedNames>& allowed);
  friend class ObjectRule;
  friend class ArrayRule;

  SchemaDocument& document_;
  SchemaCases cases_;
  Builder& builder_;
  std::map<Parts, Rule> rules_, case_rules_;
  std::deque<std::pair<Rule, Parts>> todo_;
  std::map<std::string, Rule> string_rules_;  // by their constraints
  std::optional<Rule> integer_, number_;
};

}  // namespace pando::grammar
