#include "text/grammar/schema_proofs.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

namespace pando::grammar {

namespace {

constexpr int kDeepestProof = 4;

// True if every case of `schemas` is empty.
bool are_surely_empty(const Parts& schemas, SchemaCases* cases, SchemaDocument* document,
                      int depth) {
  const std::vector<Parts> all = cases->of(schemas);
  if (document->has_failed()) return false;
  return std::all_of(all.begin(), all.end(), [&](const Parts& parts) {
    return is_surely_empty(parts, cases, document, depth);
  });
}

// A set, because each look-up in an ordered object passes all names before the one it finds.
bool has_all(const Json& object, const std::vector<std::string>& required) {
  if (required.empty()) return true;
  std::unordered_set<std::string_view> names;
  for (auto member = object.begin(); member != object.end(); ++member) names.insert(member.key());
  return std::ranges::all_of(required,
                             [&](const std::string& name) { return names.contains(name); });
}

bool are_strings_empty(const SchemaFacts& facts, SchemaDocument* document) {
  if (facts.min_length > facts.max_length) return true;
  if (!facts.has_patterns()) return false;
  const CharDfa* strings = strings_of(facts, document);
  if (strings == nullptr) return false;
  const auto lengths = document->lengths_of(*strings, facts.lengths(), facts.parts[0]);
  return lengths && !lengths->has_text();
}

}  // namespace

bool bounds_contradict(const SchemaFacts& facts) {
  const auto low = std::ranges::find(facts.bounds, true, &SchemaFacts::Bound::is_lower);
  const auto high = std::ranges::find(facts.bounds, false, &SchemaFacts::Bound::is_lower);
  if (low == facts.bounds.end() || high == facts.bounds.end()) return false;
  if (is_less(high->at, low->at)) return true;
  return !is_less(low->at, high->at) && (low->is_exclusive || high->is_exclusive);
}

bool is_surely_empty(const Parts& parts, SchemaCases* cases, SchemaDocument* document, int depth) {
  if (depth > kDeepestProof || document->has_failed()) return false;
  document->work(1 + parts.size());
  const SchemaFacts facts(parts, document);
  // A refusal here only ends the proof; compilation reports it.
  const auto holds = [&](bool is_proof) {
    const bool has_failed = document->has_failed();
    if (has_failed) document->forgive();
    return is_proof && !has_failed;
  };
  if (document->has_failed()) return holds(false);
  if (facts.types == 0) return true;
  if (facts.values)
    return holds(std::none_of(facts.values->begin(), facts.values->end(), [&](const Json* value) {
      return meets(*value, facts, cases, document);
    }));
  if (facts.types & (kNull | kBoolean)) return false;
  if (facts.types & (kInteger | kFraction) && !bounds_contradict(facts)) return false;
  if (facts.types & kString && !holds(are_strings_empty(facts, document))) return false;
  if (facts.types & kArray && facts.min_items <= facts.max_items) {
    bool is_empty = false;
    for (size_t i = 0; i < std::min<size_t>(facts.min_items, 8) && !is_empty; ++i)
      is_empty = holds(are_surely_empty(item_of(parts, i), cases, document, depth + 1));
    if (!is_empty) return false;
  }
  if (facts.types & kObject && facts.min_properties <= facts.max_properties &&
      facts.required.size() <= facts.max_properties) {
    bool is_empty = false;
    for (const std::string& name : facts.required) {
      const Parts inside = property_of(parts, name, document);
      is_empty = holds(are_surely_empty(inside, cases, document, depth + 1));
      if (is_empty) break;
    }
    if (!is_empty) return false;
  }
  return true;
}

bool is_valid(const Json& value, const Parts& schemas, SchemaCases* cases,
              SchemaDocument* document) {
  document->work();
  const std::vector<Parts> all = cases->of(schemas);
  return std::any_of(all.begin(), all.end(), [&](const Parts& parts) {
    if (document->has_failed()) return false;
    const auto facts = cases->facts_of(parts);
    return facts->is_listed(value) && meets(value, *facts, cases, document);
  });
}

bool meets(const Json& value, const SchemaFacts& facts, SchemaCases* cases,
           SchemaDocument* document) {
  const unsigned type = type_of(value);
  if ((facts.types & type) == 0) return false;
  if (facts.is_not_value(value)) return false;
  if (type == kString && facts.has_string_facts()) {
    const CharDfa* strings = strings_of(facts, document);
    const auto& text = value.get_ref<const std::string&>();
    if (strings == nullptr) return false;
    document->work(strings->n_steps_of(text) / 512);
    return facts.lengths().contain(characters_of(text).size()) && strings->matches(text);
  }
  if (type & (kInteger | kFraction) && facts.has_number_facts()) {
    const auto number = decimal_of(value);
    const CharDfa* numbers = numbers_of(facts, document);
    return number && numbers != nullptr && numbers->matches(text_of(*number));
  }
  if (type == kArray) {
    if (value.size() < facts.min_items || value.size() > facts.max_items) return false;
    std::unordered_set<std::string> texts;
    for (size_t i = 0; i < value.size(); ++i) {
      if (!is_valid(value[i], item_of(facts.parts, i), cases, document)) return false;
      if (facts.has_unique_items && !texts.insert(canonical_text(value[i])).second) return false;
    }
    for (const auto& [schema, least] : facts.contained) {
      size_t n = 0;
      for (const Json& item : value) n += is_valid(item, {schema}, cases, document);
      if (n < least) return false;
    }
  }
  if (type == kObject) {
    if (value.size() < facts.min_properties || value.size() > facts.max_properties) return false;
    if (!has_all(value, facts.required)) return false;
    for (const auto& [name, inside] : value.items()) {
      if (!is_valid(inside, property_of(facts.parts, name, document), cases, document))
        return false;
      for (const Node part : facts.parts)
        if (const Node names = SchemaDocument::find(part, "propertyNames"))
          if (!is_valid(Json(name), {names}, cases, document)) return false;
    }
  }
  return true;
}

}  // namespace pando::grammar
