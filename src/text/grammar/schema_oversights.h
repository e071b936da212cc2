// Finds what is valid in a schema but hardly meant.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "text/grammar/schema_facts.h"

namespace pando::grammar {

// Looks at what is compiled, each place with all schemas that apply to it. So a keyword whose type
// stands in another schema causes no warning. Changes nothing of what is compiled, and does not
// count as its work. Of very large schemas it looks at a part.
class SchemaOversights {
 public:
  explicit SchemaOversights(SchemaDocument* document) : document_(*document) {}

  void look_at(const SchemaFacts& facts);  // of a case
  // `value`: of an "enum" or "const". `fits`: with the other keywords of a case.
  void look_at_value(const Json* value, bool fits);

  // One for each place, the first eight:
  // - a keyword without a type, as "properties", which values of other types pass;
  // - a keyword for values of another type, which has no effect;
  // - a required name that is not among the properties;
  // - a value of "enum" that does not fit the other keywords.
  // The search for the places counts as work of the document.
  std::vector<std::string> warnings();

 private:
  struct Keyword {
    Node part;
    std::string_view name;
    const Json* value;
    unsigned types;  // of a keyword without effect: those that its place has
  };
  struct Required {
    Parts parts;
    std::string name;
  };
  bool spend(size_t n);
  void look_at_required(const SchemaFacts& facts);
  std::string untyped_text(const Keyword& keyword);
  std::string idle_text(const Keyword& keyword);
  std::string required_text(const Required& required);

  SchemaDocument& document_;
  size_t steps_left_ = 200'000;  // keywords, names and values
  bool is_complete_ = true;
  std::vector<Keyword> untyped_, idle_;
  std::vector<Required> required_;
  std::vector<const Json*> unfit_;             // values
  std::unordered_set<const Json*> effective_;  // keywords, and values that fit
};

}  // namespace pando::grammar
