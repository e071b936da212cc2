#include "text/grammar/schema_guess.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "base/json.h"

namespace pando::grammar {
namespace {

// Of all drafts.
constexpr std::string_view kConstraints[] = {"$ref",
                                             "$dynamicRef",
                                             "$recursiveRef",
                                             "$defs",
                                             "definitions",
                                             "allOf",
                                             "anyOf",
                                             "oneOf",
                                             "not",
                                             "if",
                                             "then",
                                             "else",
                                             "type",
                                             "enum",
                                             "const",
                                             "properties",
                                             "required",
                                             "patternProperties",
                                             "additionalProperties",
                                             "propertyNames",
                                             "minProperties",
                                             "maxProperties",
                                             "dependencies",
                                             "dependentRequired",
                                             "items",
                                             "dependentSchemas",
                                             "prefixItems",
                                             "additionalItems",
                                             "contains",
                                             "minContains",
                                             "maxContains",
                                             "minItems",
                                             "maxItems",
                                             "uniqueItems",
                                             "unevaluatedItems",
                                             "unevaluatedProperties",
                                             "minLength",
                                             "maxLength",
                                             "pattern",
                                             "format",
                                             "minimum",
                                             "maximum",
                                             "exclusiveMinimum",
                                             "exclusiveMaximum",
                                             "multipleOf",
                                             "contentSchema",
                                             "extends",
                                             "disallow",
                                             "divisibleBy"};
constexpr std::string_view kAnnotations[] = {
    "$schema", "$id",        "id",       "$anchor",          "$dynamicAnchor",  "$vocabulary",
    "title",   "$comment",   "default",  "description",      "contentEncoding", "examples",
    "example", "deprecated", "readOnly", "contentMediaType", "writeOnly",       "nullable"};
// Of OpenAI's response_format and tools, and of Anthropic's tools.
constexpr std::string_view kHolders[] = {"json_schema", "schema", "input_schema", "parameters"};

bool is_constraint(std::string_view name) {
  return std::ranges::find(kConstraints, name) != std::end(kConstraints);
}

bool has_constraint(const Json& object) {
  for (const auto& [name, value] : object.items())
    if (is_constraint(name)) return true;
  return false;
}

}  // namespace

std::string place_of_schema(Node object) {
  if (!object->is_object()) return {};
  const Node type = SchemaDocument::find(object, "type");
  // Not operator==, which allocates and must not throw.
  if (type != nullptr ? !type->is_string() || type->get_ref<const std::string&>() != "json_schema"
                      : has_constraint(*object))
    return {};
  for (const std::string_view holder : kHolders) {
    const Node held = SchemaDocument::find(object, holder);
    if (held == nullptr || !held->is_object()) continue;
    const std::string inner = place_of_schema(held);
    return std::string(holder) + (inner.empty() ? "" : "." + inner);
  }
  return {};
}

std::string schema_warning(std::string_view text) {
  const Result<Json> schema = parse_ordered_json(text, LargeNumbers::kKept);
  if (!schema || !schema->is_object() || has_constraint(*schema)) return {};
  std::vector<std::string> names;
  for (const auto& [name, value] : schema->items())
    if (std::ranges::find(kAnnotations, name) == std::end(kAnnotations)) names.push_back(name);
  if (names.empty()) return {};
  constexpr size_t kShown = 3;
  const bool is_long = names.size() > kShown;
  names.resize(std::min(names.size(), kShown));
  return one_line(
      fmt::format("the schema has no JSON Schema keyword, only '{}'{}: any JSON fits it (hint: put "
                  "the names of "
                  "the answer's fields into 'properties')",
                  fmt::join(names, "', '"), is_long ? " and others" : ""));
}

}  // namespace pando::grammar
