// Constraints of a case: all its parts together.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "text/grammar/char_dfa.h"
#include "text/grammar/decimal.h"
#include "text/grammar/schema_cases.h"

namespace pando::grammar {

enum Type : unsigned {
  kNull = 1,
  kBoolean = 2,
  kInteger = 4,
  kFraction = 8,  // a number that is no integer
  kString = 16,
  kArray = 32,
  kObject = 64,
  kAnyType = 127,
};

struct SchemaFacts {
  SchemaFacts(const Parts& parts, SchemaDocument* document);

  Parts parts;
  unsigned types = kAnyType;
  std::optional<std::vector<const Json*>> values;  // of "enum" and "const"
  std::vector<const Json*> not_values;
  std::unordered_set<std::string> not_texts;  // canonical_text of these
  // numbers
  struct Bound {
    Decimal at;
    bool is_lower;
    bool is_exclusive;
  };
  std::vector<Bound> bounds;  // the tightest on each side
  std::vector<Decimal> divisors, not_divisors;
  // strings
  size_t min_length = 0, max_length = SIZE_MAX;
  std::vector<std::string> patterns, not_patterns, formats;
  Lengths of_patterns;      // bounds of length in patterns
  Lengths lengths() const;  // all bounds together
  // arrays
  size_t min_items = 0, max_items = SIZE_MAX;
  bool has_unique_items = false;
  struct Contained {
    Node schema;
    size_t least;  // items that are valid under it, at least 1
  };
  std::vector<Contained> contained;
  // objects
  size_t min_properties = 0, max_properties = SIZE_MAX;
  std::vector<std::string> required;
  std::unordered_set<std::string> is_required;  // the same

  bool is_not_value(const Json& value) const;
  bool is_listed(const Json& value) const;  // by "enum" and "const", where they are there
  bool has_string_facts() const { return has_length() || has_patterns(); }
  bool has_length() const { return min_length > 0 || max_length != SIZE_MAX; }
  bool has_patterns() const {
    return !patterns.empty() || !not_patterns.empty() || !formats.empty();
  }
  bool has_number_facts() const {
    return !bounds.empty() || !divisors.empty() || !not_divisors.empty() || !formats.empty();
  }

 private:
  friend const CharDfa* strings_of(const SchemaFacts& facts, SchemaDocument* document);
  friend const CharDfa* numbers_of(const SchemaFacts& facts, SchemaDocument* document);
  void read(Node schema, SchemaDocument* document);
  void keep_values(std::vector<const Json*> more, SchemaDocument* document);
  void add_bound(Bound bound);

  // Once they were asked for.
  mutable std::optional<CharDfa> strings_, numbers_;
  mutable std::unordered_set<std::string> value_texts_;
};

// The texts (of any length) and numbers of a case. Null after a refusal, which the document keeps.
const CharDfa* strings_of(const SchemaFacts& facts, SchemaDocument* document);
const CharDfa* numbers_of(const SchemaFacts& facts, SchemaDocument* document);

unsigned type_of(const Json& value);
// The value of a keyword such as "maxLength"; at most 10^15.
size_t count_of(const Json& value);
// Equal values have the same one, also 1 and 1.0, and objects in another order.
std::string canonical_text(const Json& value);

// Schemas for the property `name` of an object, or item `index` of an array, under all parts.
Parts property_of(const Parts& parts, const std::string& name, SchemaDocument* document);
Parts item_of(const Parts& parts, size_t index);
// The number of items from which on item_of is the same for all.
size_t n_prefix_items(const Parts& parts);
// The schemas of a schema's first items, and of its other items; null if there are none.
Node prefix_items_of(Node schema);
Node rest_items_of(Node schema);

}  // namespace pando::grammar
