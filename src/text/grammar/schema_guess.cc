#include "text/grammar/schema_guess.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/json_value.h"
#include "base/nearest.h"
#include "text/grammar/limits.h"

namespace pando::grammar {
namespace {

// Keywords of all drafts.
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
// Names around a schema in OpenAI's response_format and tools, and in Anthropic's tools.
constexpr std::string_view kHolders[] = {"response_format", "json_schema", "schema",
                                         "input_schema",    "function",    "parameters"};
// Keywords whose value is a schema or a list of schemas; then those whose members are schemas.
constexpr std::string_view kSchemaKeywords[] = {
    "allOf",      "anyOf", "oneOf", "not",      "if",
    "then",       "else",  "items", "contains", "additionalProperties",
    "prefixItems"};
constexpr std::string_view kNamedSchemas[] = {"properties", "patternProperties"};
// Keywords about objects, whose value is an object; and keywords whose value may be a string.
constexpr std::string_view kObjectKeywords[] = {"properties",           "patternProperties",
                                                "additionalProperties", "propertyNames",
                                                "definitions",          "$defs"};
constexpr std::string_view kTextKeywords[] = {"type", "const", "format", "pattern"};
constexpr std::string_view kTypes[] = {"string", "integer", "number", "boolean",
                                       "array",  "object",  "null"};

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

// Compares without operator==, which allocates and must not throw.
bool is_text(const Json& value, std::string_view text) {
  return value.is_string() && value.get_ref<const std::string&>() == text;
}

struct Misspelled {
  std::string place;  // "#/properties/a/maxlength"
  std::string hint;   // " (hint: 'maxLength'?)"
};

// A schema with names that seem to be those of an answer's fields.
struct BareFields {
  std::string place;  // "#/properties/a"
  std::vector<std::string> names;
  bool has_type = false;  // "object"; otherwise it has no keyword that constrains the answer
};

// Neither a keyword nor an extension ("x-order").
bool is_name(std::string_view name) {
  return !is_constraint(name) && !is_annotation(name) && !name.starts_with("x-");
}

std::vector<std::string> names_in(const Json& schema) {
  std::vector<std::string> names;
  for (const auto& [name, value] : schema.items())
    if (is_name(name)) names.push_back(name);
  return names;
}

// True if an object among definitions holds only definitions.
bool is_group(const Json& object) {
  if (!object.is_object() || has_constraint(object)) return false;
  for (const auto& [name, value] : object.items())
    if (is_name(name) && !value.is_object() && !value.is_boolean()) return false;
  return true;
}

bool is_object_without_properties(const Json& schema) {
  const Node type = SchemaDocument::find(&schema, "type");
  if (type == nullptr || !is_text(*type, "object")) return false;
  for (const char* name : {"properties", "patternProperties", "$ref", "allOf", "anyOf", "oneOf"})
    if (SchemaDocument::find(&schema, name) != nullptr) return false;
  return true;
}

// True if the value describes a field: a schema, or the name of a type.
bool is_of_field(const Json& value) {
  if (value.is_object()) return has_constraint(value);
  return std::ranges::any_of(kTypes, [&](std::string_view type) { return is_text(value, type); });
}

// Looks in a schema for the first names that are nearly keywords, and for the first part with
// BareFields.
class MisspelledSearch {
 public:
  static constexpr size_t kMostFound = 8;

  explicit MisspelledSearch(const Json& schema) { visit(schema); }

  const std::vector<Misspelled>& names() const { return found_; }
  const std::optional<BareFields>& first_bare() const { return bare_; }

 private:
  void visit(const Json& schema) {
    if (schema.is_array()) return visit_members(schema);
    if (!schema.is_object()) return;
    const bool has_type = is_object_without_properties(schema);
    const bool may_have_fields = has_type || !has_constraint(schema);
    const size_t n_found = found_.size();
    bool are_fields = false;  // a value shows that they are names of fields
    std::vector<std::string> fields;
    for (const auto& [name, value] : schema.items()) {
      path_.push_back(name);
      if (std::ranges::find(kSchemaKeywords, name) != std::end(kSchemaKeywords))
        visit(value);
      else if (name == "$defs" || name == "definitions")
        visit_definitions(value);
      else if (std::ranges::find(kNamedSchemas, name) != std::end(kNamedSchemas))
        visit_members(value);
      else if (!is_constraint(name) && !is_annotation(name) &&
               !compare(name, value, may_have_fields) && may_have_fields && is_name(name) &&
               (!has_type || is_of_field(value))) {
        fields.push_back(name);
        are_fields = are_fields || is_of_field(value);
      }
      path_.pop_back();
    }
    if (fields.empty()) return;
    if (are_fields && !has_type) found_.resize(n_found);  // so no name here is a misspelt keyword
    if (!has_type) fields = names_in(schema);
    if (!bare_) bare_ = BareFields{place(), std::move(fields), has_type};
  }
  void visit_members(const Json& schemas) {
    for (const auto& [name, one] : schemas.items()) {  // of a list, the index
      path_.push_back(name);
      visit(one);
      path_.pop_back();
    }
  }
  // Names of definitions are no keywords, also in a group of them.
  void visit_definitions(const Json& definitions) {
    for (const auto& [name, one] : definitions.items()) {
      path_.push_back(name);
      if (is_group(one))
        visit_group(one);
      else
        visit(one);
      path_.pop_back();
    }
  }
  // A member that is not a schema may be the value of a misspelt keyword, or another group.
  void visit_group(const Json& group) {
    for (const auto& [name, one] : group.items()) {
      if (!is_name(name)) continue;
      path_.push_back(name);
      if (!is_group(one) || names_in(one).empty())
        visit(one);
      else if (!compare(name, one, false))
        visit_group(one);
      path_.pop_back();
    }
  }
  // Records a name that is nearly a keyword; true if it is. `may_be_field`: it may also be the name
  // of a field.
  bool compare(const std::string& name, const Json& value, bool may_be_field) {
    constexpr size_t kMostCompared = 64;  // each with all keywords
    if (n_compared_ == kMostCompared || found_.size() == kMostFound) return false;
    ++n_compared_;
    const std::string_view keyword = nearest_name(name, kConstraints);
    if (keyword.empty() || (may_be_field && !takes(keyword, value))) return false;
    found_.push_back({place(), fmt::format(" (hint: '{}'?)", keyword)});
    return true;
  }
  // True if the value fits the keyword, rather than a field of that name.
  static bool takes(std::string_view keyword, const Json& value) {
    if (value.is_string())
      return std::ranges::find(kTextKeywords, keyword) != std::end(kTextKeywords);
    return !is_of_field(value) ||
           std::ranges::find(kObjectKeywords, keyword) != std::end(kObjectKeywords);
  }
  std::string place() const { return fmt::format("#{}", path_.to_string()); }

  Json::json_pointer path_;
  size_t n_compared_ = 0;
  std::vector<Misspelled> found_;
  std::optional<BareFields> bare_;
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

std::string warning_of(const BareFields& schema) {
  constexpr size_t kShown = 3;
  const std::span names = std::span(schema.names).first(std::min(schema.names.size(), kShown));
  const std::string_view more = schema.names.size() > kShown ? " and others" : "";
  const std::string place = schema.place == "#" ? "the schema" : fmt::format("'{}'", schema.place);
  constexpr std::string_view kHint =
      " (hint: put the names of the answer's fields into 'properties')";
  if (schema.has_type)
    return fmt::format("{} has no 'properties', and '{}'{} beside its type {} no effect{}", place,
                       fmt::join(names, "', '"), more, schema.names.size() == 1 ? "has" : "have",
                       kHint);
  return fmt::format(
      "{} has no keyword that constrains the answer, only '{}'{}: any JSON fits it{}", place,
      fmt::join(names, "', '"), more, kHint);
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
  const Result<JsonValue> schema = JsonValue::parse(text);
  return schema ? schema_warning(*schema) : std::string();
}

std::string schema_warning(const JsonValue& value) {
  const Json schema = tree_of(value);
  if (schema == Json(true))
    return "the schema is true: any JSON fits it (hint: pass an object with the answer's fields in "
           "'properties')";
  // An object that holds a schema is refused.
  if (!schema.is_object() || !place_of_schema(&schema).empty()) return {};
  const MisspelledSearch search(schema);
  if (!search.names().empty()) return one_line(warning_of(search.names()));
  if (search.first_bare()) return one_line(warning_of(*search.first_bare()));
  // Parts without constraints and names are usual, so only the whole schema gets this warning.
  if (!has_constraint(schema))
    return "the schema has no keyword that constrains the answer: any JSON fits it (hint: put the "
           "names of the answer's fields into 'properties')";
  return {};
}

}  // namespace pando::grammar
