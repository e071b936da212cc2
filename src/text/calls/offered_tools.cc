#include "text/calls/offered_tools.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "base/json.h"
#include "base/json_value.h"
#include "text/calls/literal.h"

namespace pando::calls {
namespace {

const CallJson* member(const CallJson* object, std::string_view name) {
  if (object == nullptr || !object->is_object()) return nullptr;
  const auto found = object->find(std::string(name));
  return found == object->end() ? nullptr : &*found;
}

// The schema that "#/$defs/NAME" refers to.
const CallJson* referred(const CallJson* root, std::string_view reference) {
  if (!reference.starts_with("#")) return nullptr;
  const CallJson* at = root;
  for (size_t begin = 1; at != nullptr && begin < reference.size();) {
    const size_t end = std::min(reference.find('/', begin + 1), reference.size());
    at = member(at, reference.substr(begin + 1, end - begin - 1));
    begin = end;
  }
  return at;
}

// The schema, and each that it refers to or offers as one of several; the first kMostAlternatives.
std::vector<const CallJson*> alternatives(const CallJson* schema, const CallJson* root) {
  constexpr size_t kMostAlternatives = 256;
  std::vector<const CallJson*> found;
  const auto add = [&](const CallJson* one) {
    if (found.size() == kMostAlternatives) return;
    const bool is_new = std::find(found.begin(), found.end(), one) == found.end();
    if (one != nullptr && one->is_object() && is_new) found.push_back(one);
  };
  add(schema);
  for (size_t i = 0; i < found.size(); ++i) {
    const CallJson* reference = member(found[i], "$ref");
    if (reference != nullptr && reference->is_string())
      add(referred(root, reference->get_ref<const std::string&>()));
    for (const char* name : {"anyOf", "oneOf", "allOf"})
      if (const CallJson* all = member(found[i], name); all != nullptr && all->is_array())
        for (const CallJson& one : *all) add(&one);
  }
  return found;
}

unsigned type_named(const CallJson& name) {
  if (!name.is_string()) return 0;
  constexpr std::pair<std::string_view, unsigned> kNames[] = {
      {"string", kString}, {"number", kNumber}, {"integer", kNumber}, {"boolean", kBoolean},
      {"null", kNull},     {"array", kList},    {"object", kObject}};
  for (const auto& [known, bits] : kNames)
    if (name.get_ref<const std::string&>() == known) return bits;
  return 0;
}

unsigned type_of(const CallJson& value) {
  if (value.is_string()) return kString;
  if (value.is_boolean()) return kBoolean;
  if (value.is_null()) return kNull;
  if (value.is_array()) return kList;
  return value.is_object() ? kObject : kNumber;
}

}  // namespace

unsigned types_of(const CallJson* schema, const CallJson* root) {
  unsigned types = 0;
  for (const CallJson* one : alternatives(schema, root)) {
    if (const CallJson* nullable = member(one, "nullable");
        nullable != nullptr && *nullable == true)
      types |= kNull;
    if (const CallJson* type = member(one, "type")) {
      types |= type_named(*type);
      if (type->is_array())
        for (const CallJson& name : *type) types |= type_named(name);
      continue;
    }
    if (const CallJson* value = member(one, "const")) types |= type_of(*value);
    if (const CallJson* values = member(one, "enum"); values != nullptr && values->is_array())
      for (const CallJson& value : *values) types |= type_of(value);
    if (member(one, "properties") != nullptr) types |= kObject;
    if (member(one, "items") != nullptr) types |= kList;
  }
  return types;
}

const CallJson* member_schema(const CallJson* schema, std::string_view name, const CallJson* root) {
  const std::vector<const CallJson*> all = alternatives(schema, root);
  for (const CallJson* one : all)
    if (const CallJson* found = member(member(one, "properties"), name)) return found;
  for (const CallJson* one : all)
    if (const CallJson* found = member(one, "additionalProperties");
        found != nullptr && found->is_object())
      return found;
  return nullptr;
}

const CallJson* item_schema(const CallJson* schema, const CallJson* root) {
  for (const CallJson* one : alternatives(schema, root))
    if (const CallJson* found = member(one, "items")) return found;
  return nullptr;
}

CallJson typed_value(std::string_view text, unsigned types) {
  const std::string_view inner = trimmed(text);
  CallJson value;
  Scan scan{.text = inner, .is_final = true};
  const bool is_value =
      !inner.empty() && read_literal(scan, {}, value) == Read::kDone && scan.at == inner.size();
  const unsigned found = is_value ? type_of(value) : 0;
  if ((types & kString) != 0 && (types & found & (kNull | kList | kObject)) == 0)
    return std::string(text);
  // A string in quotes is one only where the schema has no strings at all.
  if (!is_value || (types == 0 && found == kString)) return std::string(text);
  return value;
}

Result<OfferedTools> OfferedTools::parse(std::string_view json) {
  OfferedTools out;
  if (json.empty()) return out;
  Result<CallJson> parsed = parse_json(json, LargeNumbers::kKept);
  if (!parsed)
    return in_file("tools", with_code(ErrorCode::kInvalidArgument, std::move(parsed).error()));
  if (!parsed->is_array()) return invalid_argument("tools are not a list, expected one");
  out.add(*parsed);
  return out;
}

OfferedTools OfferedTools::of(const JsonValue& tools) {
  OfferedTools out;
  if (const CallJson list = tree_of(tools); list.is_array()) out.add(list);
  return out;
}

void OfferedTools::keep(std::span<const std::string> names) {
  if (names.empty()) return;
  is_limited_ = true;
  std::erase_if(tools_, [&](const Tool& tool) {
    return std::find(names.begin(), names.end(), tool.name) == names.end();
  });
}

void OfferedTools::add(const CallJson& list) {
  for (size_t i = 0; i < list.size(); ++i) {
    const CallJson& entry = list[i];
    const CallJson* function = member(&entry, "function");
    if (function == nullptr || !function->is_object()) function = &entry;
    const CallJson* name = member(function, "name");
    if (name == nullptr || !name->is_string()) continue;
    const CallJson* parameters = member(function, "parameters");
    if (parameters == nullptr) parameters = member(function, "input_schema");
    tools_.push_back(
        {name->get<std::string>(), parameters == nullptr ? CallJson() : *parameters, i});
  }
}

const OfferedTools::Tool* OfferedTools::find(std::string_view name) const {
  const auto found = std::find_if(tools_.begin(), tools_.end(),
                                  [&](const Tool& tool) { return tool.name == name; });
  return found == tools_.end() ? nullptr : &*found;
}

const CallJson* OfferedTools::root_of(std::string_view tool) const {
  const Tool* found = find(tool);
  return found == nullptr ? nullptr : &found->parameters;
}

const CallJson* OfferedTools::schema_of(std::string_view tool, std::string_view parameter) const {
  const CallJson* root = root_of(tool);
  return member_schema(root, parameter, root);
}

CallJson OfferedTools::value_of(std::string_view tool, std::string_view parameter,
                                std::string_view text) const {
  return typed_value(text, types_of(schema_of(tool, parameter), root_of(tool)));
}

}  // namespace pando::calls
