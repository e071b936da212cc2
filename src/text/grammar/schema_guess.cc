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
  std::string place;  // "#/properties/a/maxlength"
  std::string hint;   // " (hint: 'maxLength'?)"
};

// A schema with names but no constraint. Annotations and extensions ("x-order") do not count as
// names.
struct Wordless {
  std::string place;  // "#/properties/a"
  std::vector<std::string> names;
};

std::optional<Wordless> wordless(const Json& schema) {
  Wordless found;
  for (const auto& [name, value] : schema.items()) {
    if (is_constraint(name)) return std::nullopt;
    if (!is_annotation(name) && !name.starts_with("x-")) found.names.push_back(name);
  }
  if (found.names.empty()) return std::nullopt;
  return found;
}

// Looks in a schema for the first names that are nearly keywords, and for the first part that is
// Wordless.
class MisspelledSearch {
 public:
  static constexpr size_t kMostFound = 8;

  explicit MisspelledSearch(const Json& schema) { visit(schema); }

  const std::vector<Misspelled>& names() const { return found_; }
  const std::optional<Wordless>& first_wordless() const { return wordless_; }

 private:
  // A group of definitions is no schema: it has only the names of the definitions.
  void visit(const Json& schema, bool may_be_group = false) {
    if (schema.is_array()) return visit_members(schema);
    if (!schema.is_object()) return;
    if (!wordless_ && !may_be_group) {
      wordless_ = wordless(schema);
      if (wordless_) wordless_->place = place();
    }
    for (const auto& [name, value] : schema.items()) {
      path_.push_back(name);
      if (std::ranges::find(kSchemaKeywords, name) != std::end(kSchemaKeywords))
        visit(value);
      else if (std::ranges::find(kNamedSchemas, name) != std::end(kNamedSchemas))
        visit_members(value, name == "$defs" || name == "definitions");
      else if (!is_constraint(name) && !is_annotation(name))
        compare(name);
      path_.pop_back();
    }
  }
  void visit_members(const Json& schemas, bool may_be_groups = false) {
    for (const auto& [name, one] : schemas.items()) {  // of a list, the index
      path_.push_back(name);
      visit(one, may_be_groups);
      path_.pop_back();
    }
  }
  void compare(const std::string& name) {
    constexpr size_t kMostCompared = 64;  // each with all keywords
    if (n_compared_ == kMostCompared || found_.size() == kMostFound) return;
    ++n_compared_;
    std::string hint = nearest_hint(name, kConstraints);
    if (!hint.empty()) found_.push_back({place(), std::move(hint)});
  }
  std::string place() const { return fmt::format("#{}", path_.to_string()); }

  Json::json_pointer path_;
  size_t n_compared_ = 0;
  std::vector<Misspelled> found_;
  std::optional<Wordless> wordless_;
};

std::string warning_of(const std::vector<Misspelled>& names) {
  if (names.size() == 1)
    return fmt::format("'{}' is not a JSON Schema keyword and has no effect{}", names[0].place,
                       names[0].hint);
  std::vector<std::string> all;
  for (const Misspelled& one : names) all.push_back(fmt::format("'{}'{}", one.place, one.hint));
  return fmt::format("these names are not JSON Schema keywords and have no effect: {}{}",
                     fmt::join(all, ", "),
                     names.size() == MisspelledSearch::kMostFound ? " and perhaps others" : "");
}

std::string warning_of(Wordless schema) {
  constexpr size_t kShown = 3;
  const bool is_long = schema.names.size() > kShown;
  schema.names.resize(std::min(schema.names.size(), kShown));
  return fmt::format(
      "{} has no keyword that constrains the answer, only '{}'{}: any JSON fits it (hint: put the "
      "names of the answer's fields into 'properties')",
      schema.place == "#" ? "the schema" : fmt::format("'{}'", schema.place),
      fmt::join(schema.names, "', '"), is_long ? " and others" : "");
}

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
  const MisspelledSearch search(*schema);
  if (!search.names().empty()) return one_line(warning_of(search.names()));
  if (search.first_wordless()) return one_line(warning_of(*search.first_wordless()));
  // Parts without constraints and names are usual, so only the whole schema gets this warning.
  if (!has_constraint(*schema))
    return "the schema has no keyword that constrains the answer: any JSON fits it (hint: put the "
           "names of the answer's fields into 'properties')";
  return {};
}

}  // namespace pando::grammar
