// Texts of messages that name the places of a schema that contradict each other.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/grammar/schema_facts.h"

namespace pando::grammar {

using Told = std::optional<std::string>;  // nothing: no place is to blame

class SchemaPlaces {
 public:
  using Names = std::initializer_list<std::string_view>;  // of keywords
  explicit SchemaPlaces(SchemaDocument* document) : document_(*document) {}

  // Texts for some keywords in the parts, as far as they are about values of these types; each text
  // once: "'#/minimum' is 5".
  std::vector<std::string> listed(const Parts& parts, Names names, unsigned types = kAnyType) const;
  Told told(const Parts& parts, Names names, unsigned types = kAnyType) const {
    return joined(listed(parts, names, types));
  }
  // The highest of one count and the lowest of another one.
  Told counts(const Parts& parts, std::string_view least, std::string_view most) const;
  // The bounds that leave no number.
  Told bounds(const SchemaFacts& facts) const;
  // "'#/required' has 'a'"
  std::string requires_name(const Parts& parts, const std::string& name) const;

  // True if the keyword constrains values of these types at this place.
  bool has_effect(Node part, std::string_view name, const Json& value,
                  unsigned types = kAnyType) const;

  // "A, but B and C"; only the first ones if there are many.
  static Told joined(const std::vector<std::string>& all);
  static Told joined(std::vector<std::string> all, std::string last);

 private:
  void add(const Json* value, std::vector<std::string>* all) const;
  void add_bound(const Parts& parts, const SchemaFacts::Bound& bound,
                 std::vector<std::string>* all) const;

  SchemaDocument& document_;
};

// " (hint: 'NAME'?)" with the property of the parts whose name is nearest to `name`. Compares only
// the first of very many properties. Empty if none is near, or if `name` is one of them.
std::string name_hint(const Parts& parts, std::string_view name);

}  // namespace pando::grammar
