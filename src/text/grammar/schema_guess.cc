#include "text/grammar/schema_guess.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/nearest.h"
#include "text/grammar/limits.h"

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
constexpr std::string_view kHolders[] = {"response_format", "json_schema", "schema",
                                         "input_schema",    "function",    "parameters"};
// Keywords whose value is a schema or a list of schemas; then those whose members are schemas.
constexpr std::string_view kSchemaKeywords[] = {
    "allOf",      "anyOf", "oneOf", "not",      "if",
    "then",       "else",  "items", "contains", "additionalProperties",
    "prefixItems"};
constexpr std::string_view kNamedSchemas[] = {"properties", "patternProperties", "definitions",
                                              "$defs"};

bool is_constraint(std::string_view name) {
  return std::ranges::find(kConstraints, name) != std::end(kConstraints);
}

bool is_annotation(std::string_view name) {
  return std::ranges::find(kAnnotations, name) != std::end(kAnnotations);
}

bool has_constraint(const Json& object) {
  for (const auto& [name, value] : object.items())
    if (is_constraint(name)) return true;
  return false;
}

// Not operator==, which allocates and must not throw.
bool is_text(const Json& value, std::string_view text) {
  return value.is_string() && value.get_ref<const std::string&>() == text;
}

struct Misspelled {
  std::string name;
  std::string hint;  // " (hint: 'maxLength'?)"
};

// Looks for the first name in a schema that is nearly a keyword.
class MisspelledSearch {
 public:
  std::optional<Misspelled> find(const Json& schema) {
    if (schema.is_array()) return find_in_members(schema);
    if (!schema.is_object()) return std::nullopt;
    for (const auto& [name, value] : schema.items()) {
      std::optional<Misspelled> found;
      if (std::ranges::find(kSchemaKeywords, name) != std::end(kSchemaKeywords))
        found = find(value);
      else if (std::ranges::find(kNamedSchemas, name) != std::end(kNamedSchemas))
        found = find_in_members(value);
      else if (!is_constraint(name) && !is_annotation(name))
        found = compared(name);
      if (found) return found;
    }
    return std::nullopt;
  }

 private:
  std::optional<Misspelled> find_in_members(const Json& schemas) {
    for (const Json& one : schemas)
      if (auto found = find(one)) return found;
    return std::nullopt;
  }
  std::optional<Misspelled> compared(const std::string& name) {
    constexpr size_t kMostCompared = 64;  // each with all keywords
    if (n_compared_ == kMostCompared) return std::nullopt;
    ++n_compared_;
    std::string hint = nearest_hint(name, kConstraints);
    if (hint.empty()) return std::nullopt;
    return Misspelled{name, std::move(hint)};
  }

  size_t n_compared_ = 0;
};

}  // namespace

std::string place_of_schema(Node object) {
  if (!object->is_object()) return {};
  const Node type = SchemaDocument::find(object, "type");
  if (type != nullptr ? !is_text(*type, "json_schema") && !is_text(*type, "function")
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
  if (text.size() > kMostTextBytes) return {};  // which is refused
  const Result<Json> schema = parse_ordered_json(text, LargeNumbers::kKept);
  // An object that holds a schema is refused.
  if (!schema || !schema->is_object() || !place_of_schema(&*schema).empty()) return {};
  if (const auto found = MisspelledSearch().find(*schema))
    return one_line(
        fmt::format("'{}' in the schema is not a JSON Schema keyword and has no effect{}",
                    found->name, found->hint));
  if (has_constraint(*schema)) return {};
  std::vector<std::string> names;
  for (const auto& [name, value] : schema->items())
    if (!is_annotation(name)) names.push_back(name);
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
