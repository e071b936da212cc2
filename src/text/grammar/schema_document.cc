#include "text/grammar/schema_document.h"

#include <algorithm>
#include <array>
#include <functional>

#include "base/json.h"
#include "text/grammar/limits.h"

namespace pando::grammar {

namespace {

// Keywords whose value is a schema, a list of schemas, or an object of schemas.
constexpr std::array<std::string_view, 15> kSchemas{"additionalProperties",
                                                    "additionalItems",
                                                    "propertyNames",
                                                    "items",
                                                    "contains",
                                                    "not",
                                                    "if",
                                                    "then",
                                                    "else",
                                                    "unevaluatedItems",
                                                    "unevaluatedProperties",
                                                    "contentSchema",
                                                    "allOf",
                                                    "anyOf",
                                                    "oneOf"};
constexpr std::array<std::string_view, 6> kObjects{
    "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"};

// Constraints that are not kept; what is in no list is an annotation.
constexpr std::array<std::string_view, 10> kRefused{"unevaluatedItems", "unevaluatedProperties",
                                                    "contains",         "$dynamicRef",
                                                    "$recursiveRef",    "extends",
                                                    "disallow",         "divisibleBy",
                                                    "minContains",      "maxContains"};

constexpr std::array<std::string_view, 8> kCounts{"minLength",   "maxLength",     "minItems",
                                                  "maxItems",    "minProperties", "maxProperties",
                                                  "minContains", "maxContains"};
constexpr std::array<std::string_view, 3> kNumbers{"minimum", "maximum", "multipleOf"};

template <size_t n>
bool is_one(std::string_view name, const std::array<std::string_view, n>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_number(const Json& value) { return value.is_number() || !kept_digits(value).empty(); }

bool is_schema(const Json& value) { return value.is_boolean() || value.is_object(); }

bool are_strings(const Json& value) {
  return value.is_array() &&
         std::all_of(value.begin(), value.end(), [](const Json& one) { return one.is_string(); });
}

// "%25" and "~1" of the pointer in a reference.
std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const std::string hex(text.substr(i + 1, 2));
      char* end = nullptr;
      const long byte = std::strtol(hex.c_str(), &end, 16);
      if (end == hex.c_str() + 2) {
        out += static_cast<char>(byte);
        i += 2;
        continue;
      }
    }
    out += text[i];
  }
  return out;
}

}  // namespace

Node SchemaDocument::find(Node schema, std::string_view name) {
  if (!schema->is_object()) return nullptr;
  const auto found = schema->find(name);
  return found == schema->end() ? nullptr : &*found;
}

Result<std::unique_ptr<SchemaDocument>> SchemaDocument::parse(std::string_view text) {
  if (text.size() > kMostTextBytes)
    return unsupported("a schema of {} bytes, at most {} are offered", text.size(), kMostTextBytes);
  auto parsed = parse_ordered_json(text, LargeNumbers::kKept);
  if (!parsed) {
    Error error = std::move(parsed).error();
    error.code = ErrorCode::kInvalidArgument;
    error.message = one_line("schema: " + error.message);
    return error;
  }
  std::unique_ptr<SchemaDocument> document(new SchemaDocument);
  document->root_ = std::move(*parsed);
  document->work_left_ = kMostSchemaWork;
  if (!is_schema(document->root_))
    return invalid_argument("a schema that is {}, expected an object", document->root_.type_name());
  if (const Node dialect = find(document->root(), "$schema")) {
    if (!dialect->is_string()) return invalid_argument("schema has a '$schema' that is no text");
    const auto& name = dialect->get_ref<const std::string&>();
    if (name.find("//json-schema.org/") == name.npos)
      return unsupported(
          "schema has the '$schema' '{}', which is not offered, expected one of json-schema.org",
          name);
    if (name.find("draft-03") != name.npos)
      return unsupported(
          "schema has the '$schema' '{}', which is not offered, expected draft 4 or later", name);
    for (const std::string_view old : {"draft-04", "draft-06", "draft-07"})
      if (name.find(old) != name.npos) document->ref_hides_siblings_ = true;
  }
  for (const char* key : {"$id", "id"})
    if (const Node id = find(document->root(), key); id != nullptr && id->is_string())
      document->root_id_ = id->get<std::string>();
  while (!document->root_id_.empty() && document->root_id_.back() == '#')
    document->root_id_.pop_back();
  document->index(document->root());
  return document;
}

// Finds anchors, and schemas that have an "$id" of their own.
void SchemaDocument::index(Node schema) {
  if (schema->is_array()) {
    for (const Json& one : *schema) index(&one);
    return;
  }
  if (!schema->is_object()) return;
  for (const auto& [name, value] : schema->items()) {
    if (name == "$anchor" && value.is_string())
      anchors_[std::string("#").append(value.get<std::string>())] = schema;
    if (name == "$id" && value.is_string()) {
      const auto& id = value.get_ref<const std::string&>();
      if (id.starts_with("#"))
        anchors_[id] = schema;
      else if (schema != &root_)
        has_inner_ids_ = true;
    }
    if (is_one(name, kSchemas) || name == "prefixItems") index(&value);
    if (is_one(name, kObjects) && value.is_object())
      for (const auto& [key, one] : value.items()) index(&one);
  }
}

Node SchemaDocument::target_of(Node schema, const Json& reference) {
  if (!reference.is_string()) {
    fault(schema, "a '$ref' that is no text");
    return nullptr;
  }
  std::string_view to = reference.get_ref<const std::string&>();
  if (has_inner_ids_) {
    refuse(schema, "'$ref' '{}' where a schema inside has its own '$id'", to);
    return nullptr;
  }
  if (!root_id_.empty() && to.starts_with(root_id_) &&
      (to.size() == root_id_.size() || to[root_id_.size()] == '#'))
    to.remove_prefix(root_id_.size());
  if (to.empty() || to == "#") return &root_;
  if (!to.starts_with("#")) {
    refuse(schema, "'$ref' to another document '{}'", to);
    return nullptr;
  }
  if (!to.starts_with("#/")) {
    const auto found = anchors_.find(std::string(to));
    if (found != anchors_.end()) return found->second;
    fault(schema, "'$ref' '{}', which is not there", to);
    return nullptr;
  }
  Node at = &root_;
  const std::string pointer = unescaped(to.substr(1));
  for (size_t begin = 1; at != nullptr && begin <= pointer.size();) {
    const size_t end = std::min(pointer.find('/', begin), pointer.size());
    std::string name = pointer.substr(begin, end - begin);
    for (size_t i = 0; (i = name.find('~', i)) != name.npos; ++i)
      name.replace(i, 2, 1, name.compare(i, 2, "~1") == 0 ? '/' : '~');
    if (at->is_array()) {
      const bool is_index =
          !name.empty() && name.size() < 9 && name.find_first_not_of("0123456789") == name.npos;
      const size_t index = is_index ? std::stoul(name) : at->size();
      at = index < at->size() ? &(*at)[index] : nullptr;
    } else {
      at = find(at, name);
    }
    begin = end + 1;
  }
  if (at == nullptr) fault(schema, "'$ref' '{}', which is not there", to);
  return at;
}

void SchemaDocument::check(Node schema) {
  if (has_failed() || !checked_.insert(schema).second) return;
  if (!is_schema(*schema))
    return fault(schema, "a {} where a schema is expected", schema->type_name());
  if (schema->is_boolean()) return;
  for (const auto& [name, value] : schema->items()) {
    work();
    if (is_one(name, kRefused)) return refuse(schema, "'{}'", name);
    if (is_one(name, kCounts)) {
      const auto text = value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
      if (!text || *text < 0 ||
          *text != static_cast<double>(static_cast<uint64_t>(std::min(*text, 1e18))))
        return fault(schema, "a '{}' that is no whole number from 0", name);
    }
    if (is_one(name, kNumbers) && !is_number(value))
      return fault(schema, "a '{}' that is no number", name);
    if (name == "uniqueItems" && !value.is_boolean())
      return fault(schema, "a 'uniqueItems' that is not true or false");
    if (name.starts_with("exclusiveM") && !is_number(value) && !value.is_boolean())
      return fault(schema, "an '{}' that is no number", name);
    if ((name == "pattern" || name == "format") && !value.is_string())
      return fault(schema, "a '{}' that is no text", name);
    if (name == "required" && !are_strings(value))
      return fault(schema, "a 'required' that is no list of names");
    if (name == "enum" && !value.is_array()) return fault(schema, "an 'enum' that is no list");
    if (name == "type" && !value.is_string() && !are_strings(value))
      return fault(schema, "a 'type' that is no name and no list of names");
    if ((name == "allOf" || name == "anyOf" || name == "oneOf" || name == "prefixItems") &&
        (!value.is_array() || (value.empty() && name != "prefixItems")))
      return fault(schema, "an '{}' that is no list of schemas", name);
    if (name != "allOf" && name != "anyOf" && name != "oneOf" && is_one(name, kSchemas) &&
        !is_schema(value) && !(name == "items" && value.is_array()))
      return fault(schema, "an '{}' that is no schema", name);
    if (is_one(name, kObjects) && name != "definitions" && name != "$defs" && !value.is_object())
      return fault(schema, "a '{}' that is no object", name);
    if (name == "dependentRequired") {
      if (!value.is_object()) return fault(schema, "a 'dependentRequired' that is no object");
      for (const Json& names : value)
        if (!are_strings(names))
          return fault(schema, "a 'dependentRequired' without lists of names");
    }
  }
}

Node SchemaDocument::made(Node of, const std::string& key, const std::function<Json()>& make) {
  const auto [at, is_new] = made_.try_emplace({of, key}, nullptr);
  if (is_new) {
    made_nodes_.push_back(make());
    at->second = &made_nodes_.back();
    work(10);
  }
  return at->second;
}

const CharDfa* SchemaDocument::matches_of(const std::string& pattern, Node schema) {
  if (const auto known = patterns_.find(pattern); known != patterns_.end()) return &known->second;
  const auto regex = parse_regex(pattern);
  if (!regex) {
    keep(regex.error());
    return nullptr;
  }
  auto dfa = CharDfa::of(*regex, true);
  if (!dfa) {
    refuse(schema, "the pattern '{}': {}", pattern, dfa.error().message);
    return nullptr;
  }
  work(dfa->n_states() / 8);
  return &patterns_.emplace(pattern, std::move(*dfa)).first->second;
}

void SchemaDocument::work(size_t n) {
  if (work_left_ < n) {
    keep(
        unsupported("a schema that expands to more than {} parts (hint: fewer combinations of "
                    "anyOf, oneOf, allOf and references)",
                    kMostSchemaWork));
    return;
  }
  work_left_ -= n;
}

// " at '#/properties/a'", by search.
std::string SchemaDocument::place_of(Node schema) const {
  std::string path;
  const std::function<bool(Node)> search = [&](Node at) {
    if (at == schema) return true;
    const size_t size = path.size();
    if (at->is_object())
      for (const auto& [name, value] : at->items()) {
        path.append("/").append(name);
        if (search(&value)) return true;
        path.resize(size);
      }
    if (at->is_array())
      for (size_t i = 0; i < at->size(); ++i) {
        path.append("/").append(std::to_string(i));
        if (search(&(*at)[i])) return true;
        path.resize(size);
      }
    return false;
  };
  if (!search(&root_) || path.empty()) return "";
  return " at '#" + path + "'";
}

}  // namespace pando::grammar
