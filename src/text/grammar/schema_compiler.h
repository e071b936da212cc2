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
// once.
class SchemaCompiler {
 public:
  explicit SchemaCompiler(SchemaDocument* document) : document_(*document), cases_(document) {}
  // If the schema compiles, `warnings`, unless null, receives those of the document.
  Result<GrammarPtr> compile(std::vector<std::string>* warnings = nullptr);

 private:
  using Rule = Builder::Rule;
  using State = Builder::State;

  // The rule of the values under which all of `schemas` hold; it is filled later.
  Rule rule_of(const Parts& schemas);
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
  struct Property {
    std::string name;
    Parts schemas;
    bool is_required;
  };
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
  std::vector<FreeNames> free_names(const SchemaFacts& facts, const std::vector<std::string>& names,
                                    const std::optional<AllowedNames>& allowed);
  friend class ObjectRule;
  friend class ArrayRule;

  SchemaDocument& document_;
  SchemaCases cases_;
  Builder builder_;
  std::map<Parts, Rule> rules_, case_rules_;
  std::deque<std::pair<Rule, Parts>> todo_;
  std::map<std::string, Rule> string_rules_;  // by their constraints
  std::optional<Rule> integer_, number_;
};

}  // namespace pando::grammar
