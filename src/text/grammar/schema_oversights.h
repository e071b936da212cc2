// Finds probable mistakes in a valid schema.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "text/grammar/schema_facts.h"

namespace pando::grammar {

// Looks at each compiled place, together with all schemas that apply there. So a keyword causes no
// warning if its type stands in another of these schemas. Does not change the grammar, and does not
// count as work of the document. Looks at only a part of a very large schema.
class SchemaOversights {
 public:
  explicit SchemaOversights(SchemaDocument* document) : document_(*document) {}

  void look_at(const SchemaFacts& facts);  // of a case
  // `value`: in an "enum" or "const". `fits`: whether the other keywords of a case allow it.
  void look_at_value(const Json* value, bool fits);

  // At most eight, each for another place, about
  // - a format that is not enforced;
  // - a keyword that applies to one type, such as "properties", in a schema without "type";
  // - a keyword that does not apply to the type of its place, and so has no effect;
  // - a required name that is not among the properties;
  // - a value of "enum" that does not fit the other keywords.
  // The search for the places counts as work of the document.
  std::vector<std::string> warnings();

 private:
  struct Keyword {
    Node part;
    std::string_view name;
    const Json* value;
    unsigned types;  // that it applies to; for a keyword without effect, the types of its place
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
  std::string format_text(const Json* format);

  SchemaDocument& document_;
  size_t steps_left_ = 200'000;  // keywords, names and values
  bool is_complete_ = true;
  std::vector<Keyword> untyped_, idle_;
  std::vector<Required> required_;
  std::vector<const Json*> unfit_;             // values
  std::unordered_set<const Json*> effective_;  // keywords, and values that fit
};

}  // namespace pando::grammar
