// "not": the schemas of which one holds exactly where another does not.
#include <algorithm>
#include <array>

#include "text/grammar/formats.h"
#include "text/grammar/limits.h"
#include "text/grammar/schema_cases.h"
#include "text/grammar/schema_facts.h"

namespace pando::grammar {

namespace {

// A keyword and the one that says the opposite of a bound; `by` is added to it.
struct Opposite {
  std::string_view name;
  const char* type;
  const char* opposite;
  int by;
};
constexpr std::array<Opposite, 10> kOpposites{{{"minimum", "number", "exclusiveMaximum", 0},
                                               {"maximum", "number", "exclusiveMinimum", 0},
                                               {"exclusiveMinimum", "number", "maximum", 0},
                                               {"exclusiveMaximum", "number", "minimum", 0},
                                               {"minLength", "string", "maxLength", -1},
                                               {"maxLength", "string", "minLength", 1},
                                               {"minItems", "array", "maxItems", -1},
                                               {"maxItems", "array", "minItems", 1},
                                               {"minProperties", "object", "maxProperties", -1},
                                               {"maxProperties", "object", "minProperties", 1}}};

constexpr std::array<std::string_view, 14> kNotNegated{"format",
                                                       "items",
                                                       "prefixItems",
                                                       "additionalItems",
                                                       "oneOf",
                                                       "if",
                                                       "dependencies",
                                                       "dependentRequired",
                                                       "dependentSchemas",
                                                       "propertyNames",
                                                       "contains",
                                                       "patternProperties",
                                                       "additionalProperties",
                                                       "uniqueItems"};

}  // namespace

Parts SchemaCases::negated(Node schema) {
  document_.check(schema);
  document_.work();
  if (document_.has_failed()) return {};
  if (schema->is_boolean()) return schema->get<bool>() ? Parts{} : Parts{document_.always()};
  if (++depth_ > kMostNesting)
    document_.refuse(schema, "a 'not' with references nested deeper than 200");
  Parts all;
  const bool is_only_ref = document_.is_draft_7() && schema->contains("$ref");
  for (const auto& [name, value] : schema->items()) {
    if (document_.has_failed()) break;
    if (is_only_ref && name != "$ref") continue;
    const Parts more = negated_keyword(schema, name, value);
    all.insert(all.end(), more.begin(), more.end());
  }
  --depth_;
  return document_.has_failed() ? Parts{} : all;
}

Parts SchemaCases::negated_keyword(Node schema, const std::string& name, const Json& value) {
  const auto make = [&](const std::string& key, const Json& json) {
    return document_.made(schema, "not " + key, [&] { return json; });
  };
  if (name == "$ref") {
    const Node target = document_.target_of(schema, value);
    return target == nullptr ? Parts{} : negated(target);
  }
  if (name == "not") return {&value};
  if (name == "type") return {make(name, Json{{std::string(kNotTypes), value}})};
  if (name == "enum") return {make(name, Json{{std::string(kNotValues), value}})};
  if (name == "const") return {make(name, Json{{std::string(kNotValues), Json::array({value})}})};
  if (name == "pattern")
    return {make(name, Json{{"type", "string"}, {std::string(kNotPattern), value}})};
  if (name == kNotTypes) return {make(name, Json{{"type", value}})};
  if (name == kNotValues) return {make(name, Json{{"enum", value}})};
  if (name == kNotPattern) return {make(name, Json{{"type", "string"}, {"pattern", value}})};
  if (name == "multipleOf")
    return {make(name, Json{{"type", "number"}, {std::string(kNotMultiple), value}})};
  if (name == kNotMultiple) return {make(name, Json{{"type", "number"}, {"multipleOf", value}})};
  const bool is_for_all_items = name == "items" && !value.is_array() &&
                                SchemaDocument::find(schema, "prefixItems") == nullptr;
  if (is_for_all_items)
    return {make(name, Json{{"type", "array"}, {std::string(kSomeItem), Json{{"not", value}}}})};
  const bool is_for_some =
      name == "contains" && SchemaDocument::find(schema, "minContains") == nullptr;
  if (is_for_some || name == kSomeItem)
    return {make(name, Json{{"type", "array"}, {"items", Json{{"not", value}}}})};
  Parts all;
  if (name == "required") {
    for (const auto& one : value) {
      const auto& property = one.get_ref<const std::string&>();
      all.push_back(make("required " + property,
                         Json{{"type", "object"}, {"properties", Json{{property, false}}}}));
    }
    return all;
  }
  if (name == "properties") {
    for (const auto& [property, inside] : value.items())
      if (inside != Json(true) && inside != Json::object())
        all.push_back(make("property " + property,
                           Json{{"type", "object"},
                                {"required", Json::array({property})},
                                {"properties", Json{{property, Json{{"not", inside}}}}}}));
    return all;
  }
  if (name == "allOf") {
    for (const Json& one : value) {
      const Parts more = negated(&one);
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }
  if (name == "anyOf") {
    Json nots = Json::array();
    for (const Json& one : value) nots.push_back(Json{{"not", one}});
    return {make(name, Json{{"allOf", nots}})};
  }
  const auto* opposite = std::find_if(kOpposites.begin(), kOpposites.end(),
                                      [&](const Opposite& one) { return one.name == name; });
  if (opposite != kOpposites.end()) {
    if (value.is_boolean()) {  // of draft 4, beside "minimum" or "maximum"
      document_.refuse(schema, "a 'not' of '{}': true", name);
      return {};
    }
    Json bound = value;
    if (opposite->by != 0) {
      const auto count = static_cast<int64_t>(count_of(value)) + opposite->by;
      if (count < 0) return {};
      bound = count;
    }
    return {make(name, Json{{"type", opposite->type}, {opposite->opposite, bound}})};
  }
  const bool is_nothing =
      (name == "additionalProperties" && value == Json(true)) ||
      (name == "uniqueItems" && value == Json(false)) ||
      (name == "format" && !is_known_format(value.get_ref<const std::string&>()));
  if (!is_nothing && std::find(kNotNegated.begin(), kNotNegated.end(), name) != kNotNegated.end())
    document_.refuse(schema, "a '{}' inside 'not', or in a 'oneOf' whose branches overlap,", name);
  return {};
}

}  // namespace pando::grammar
