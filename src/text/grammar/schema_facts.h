// What the parts of a case say together.
#pragma once

#include <optional>
#include <string>
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
  // numbers
  struct Bound {
    Decimal at;
    bool is_lower;
    bool is_exclusive;
  };
  std::vector<Bound> bounds;
  std::vector<Decimal> divisors;
  // strings
  size_t min_length = 0, max_length = SIZE_MAX;
  std::vector<std::string> patterns, not_patterns, formats;
  // arrays
  size_t min_items = 0, max_items = SIZE_MAX;
  bool has_unique_items = false;
  // objects
  size_t min_properties = 0, max_properties = SIZE_MAX;
  std::vector<std::string> required;

  bool has_string_facts() const {
    return min_length > 0 || max_length != SIZE_MAX || !patterns.empty() || !not_patterns.empty() ||
           !formats.empty();
  }
  bool has_number_facts() const { return !bounds.empty() || !divisors.empty() || !formats.empty(); }

 private:
  void read(Node schema, SchemaDocument* document);
};

// Sets of texts and numbers of a case; a refusal is kept in the document, and nothing is given.
std::optional<CharDfa> strings_of(const SchemaFacts& facts, SchemaDocument* document);
std::optional<CharDfa> numbers_of(const SchemaFacts& facts, SchemaDocument* document);

unsigned type_of(const Json& value);
bool are_equal(const Json& a, const Json& b);  // 1 equals 1.0

// What stands at a name of an object, or at an index of an array, under all parts.
Parts property_of(const Parts& parts, const std::string& name, SchemaDocument* document);
Parts item_of(const Parts& parts, size_t index);
// The number of items from which on item_of is the same for all.
size_t n_prefix_items(const Parts& parts);
// The schemas of the items in front, and of the rest, of one schema; null where there are none.
Node prefix_items_of(Node schema);
Node rest_items_of(Node schema);

}  // namespace pando::grammar
