#include "text/grammar/schema_keywords.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "base/json.h"
#include "base/nearest.h"

namespace pando::grammar {

namespace {

using Keywords = std::span<const std::string_view>;

constexpr std::string_view kSchemas[] = {"additionalProperties",
                                         "additionalItems",
                                         "propertyNames",
                                         "items",
                                         "prefixItems",
                                         "contains",
                                         "not",
                                         "if",
                                         "then",
                                         "else",
                                         "unevaluatedItems",
                                         "allOf",
                                         "anyOf",
                                         "oneOf",
                                         "contentSchema",
                                         "unevaluatedProperties"};
constexpr std::string_view kNamedSchemas[] = {"properties",  "patternProperties", "$defs",
                                              "definitions", "dependentSchemas",  "dependencies"};
constexpr std::string_view kUnsupported[] = {
    "unevaluatedItems", "unevaluatedProperties", "$dynamicRef", "$recursiveRef", "extends",
    "disallow",         "divisibleBy",           "maxContains"};
constexpr std::string_view kCounts[] = {"minLength",   "maxLength",     "minItems",
                                        "maxItems",    "minProperties", "maxProperties",
                                        "minContains", "maxContains"};
constexpr std::string_view kNumbers[] = {"minimum", "maximum", "multipleOf"};
constexpr std::string_view kOthers[] = {"$ref",
                                        "type",
                                        "enum",
                                        "const",
                                        "required",
                                        "pattern",
                                        "format",
                                        "uniqueItems",
                                        "dependentRequired",
                                        "exclusiveMinimum",
                                        "exclusiveMaximum"};

bool is_one(std::string_view name, Keywords names) {
  return std::ranges::find(names, name) != names.end();
}

const std::vector<std::string_view>& all_keywords() {
  static const std::vector<std::string_view> kAll = [] {
    std::vector<std::string_view> all;
    for (const Keywords some : {Keywords(kOthers), Keywords(kSchemas), Keywords(kNamedSchemas),
                                Keywords(kUnsupported), Keywords(kCounts), Keywords(kNumbers)})
      all.insert(all.end(), some.begin(), some.end());
    return all;
  }();
  return kAll;
}

bool is_number(const Json& value) { return value.is_number() || !kept_digits(value).empty(); }

bool is_count(const Json& value) {
  if (const std::string digits = kept_digits(value); !digits.empty()) return digits[0] != '-';
  return value.is_number() && value.get<double>() >= 0 &&
         std::floor(value.get<double>()) == value.get<double>();
}

bool are_strings(const Json& value) {
  return value.is_array() &&
         std::all_of(value.begin(), value.end(), [](const Json& one) { return one.is_string(); });
}

}  // namespace

bool is_keyword(std::string_view name) { return is_one(name, all_keywords()); }
std::string keyword_hint(std::string_view name) { return nearest_hint(name, all_keywords()); }
bool is_refused(std::string_view keyword) { return is_one(keyword, kUnsupported); }
bool holds_schemas(std::string_view keyword) { return is_one(keyword, kSchemas); }
bool holds_named_schemas(std::string_view keyword) { return is_one(keyword, kNamedSchemas); }

bool is_schema(const Json& value) { return value.is_boolean() || value.is_object(); }

std::string_view expected_of(std::string_view name, const Json& value) {
  if (is_one(name, kCounts)) return is_count(value) ? "" : "a whole number from 0";
  if (is_one(name, kNumbers)) return is_number(value) ? "" : "a number";
  if (name.starts_with("exclusiveM"))
    return is_number(value) || value.is_boolean() ? "" : "a number";
  if (name == "uniqueItems") return value.is_boolean() ? "" : "true or false";
  if (name == "pattern" || name == "format") return value.is_string() ? "" : "a string";
  if (name == "required") return are_strings(value) ? "" : "a list of names";
  if (name == "enum") return value.is_array() ? "" : "a list";
  if (name == "type")
    return value.is_string() || are_strings(value) ? "" : "a name or a list of names";
  if (name == "allOf" || name == "anyOf" || name == "oneOf")
    return value.is_array() && !value.empty() ? "" : "a list of at least one schema";
  if (name == "prefixItems") return value.is_array() ? "" : "a list of schemas";
  if (name == "items") return is_schema(value) || value.is_array() ? "" : "a schema";
  if (holds_schemas(name)) return is_schema(value) ? "" : "a schema";
  if (name == "definitions" || name == "$defs") return "";
  if (holds_named_schemas(name)) return value.is_object() ? "" : "an object";
  if (name != "dependentRequired") return "";
  const bool has_names = value.is_object() && std::all_of(value.begin(), value.end(), are_strings);
  return has_names ? "" : "an object of lists of names";
}

bool has_keyword(const Json& schema) {
  for (auto member = schema.begin(); schema.is_object() && member != schema.end(); ++member)
    if (is_keyword(member.key())) return true;
  return false;
}

std::string place_of_schema(const Json& value) {
  // Names around a schema in a response_format and in tools.
  constexpr std::array<std::string_view, 6> kHolders{
      "response_format", "json_schema", "schema", "input_schema", "function", "parameters"};
  if (!value.is_object()) return {};
  const auto type = value.find("type");
  if (type != value.end()) {
    const auto* name = type->get_ptr<const std::string*>();
    if (name == nullptr || (*name != "json_schema" && *name != "function")) return {};
  } else if (has_keyword(value)) {
    return {};
  }
  for (const std::string_view holder : kHolders) {
    const auto held = value.find(holder);
    if (held == value.end() || !held->is_object()) continue;
    const std::string inner = place_of_schema(*held);
    return std::string(holder) + (inner.empty() ? "" : "." + inner);
  }
  return {};
}

}  // namespace pando::grammar
