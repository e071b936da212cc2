#include "text/grammar/schema_oversights.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "base/errors.h"
#include "base/nearest.h"
#include "text/grammar/formats.h"
#include "text/grammar/schema_places.h"

namespace pando::grammar {

namespace {

constexpr unsigned kNumberTypes = kInteger | kFraction;
constexpr size_t kMostKept = 64;  // of each kind; some may prove to have an effect

// Adds elements whose `key` is new.
template <class T, class Key>
void keep(const T& one, Key key, std::vector<T>* all) {
  if (all->size() < kMostKept && std::ranges::find(*all, std::invoke(key, one), key) == all->end())
    all->push_back(one);
}

constexpr std::array<std::pair<std::string_view, unsigned>, 21> kTypesOfKeywords{{
    {"minimum", kNumberTypes},
    {"maximum", kNumberTypes},
    {"exclusiveMinimum", kNumberTypes},
    {"exclusiveMaximum", kNumberTypes},
    {"multipleOf", kNumberTypes},
    {"minLength", kString},
    {"maxLength", kString},
    {"pattern", kString},
    {"minItems", kArray},
    {"maxItems", kArray},
    {"uniqueItems", kArray},
    {"items", kArray},
    {"prefixItems", kArray},
    {"contains", kArray},
    {"properties", kObject},
    {"required", kObject},
    {"patternProperties", kObject},
    {"additionalProperties", kObject},
    {"propertyNames", kObject},
    {"minProperties", kObject},
    {"maxProperties", kObject},
}};

// True if a keyword with this value constrains nothing.
bool is_trivial(std::string_view name, const Json& value) {
  if (value.is_structured()) return value.empty();
  if (value.is_boolean()) {
    if (name.starts_with("exclusiveM")) return true;
    return value.get<bool>() != (name == "uniqueItems");
  }
  return name.starts_with("min") && name != "minimum" && value == Json(0);
}

// The types that a keyword applies to; kAnyType also if it constrains nothing.
unsigned types_about(std::string_view name, const Json& value) {
  if (name == "format") {
    const auto& format = value.get_ref<const std::string&>();
    if (!is_known_format(format)) return kAnyType;
    return bounds_of_format(format) ? kNumberTypes : unsigned{kString};
  }
  const auto* found =
      std::ranges::find(kTypesOfKeywords, name, &std::pair<std::string_view, unsigned>::first);
  return found == kTypesOfKeywords.end() || is_trivial(name, value) ? unsigned{kAnyType}
                                                                    : found->second;
}

// "integer or null"
std::string type_names(unsigned types) {
  constexpr std::array<std::pair<unsigned, std::string_view>, 7> kNames{{{kNumberTypes, "number"},
                                                                         {kInteger, "integer"},
                                                                         {kString, "string"},
                                                                         {kArray, "array"},
                                                                         {kObject, "object"},
                                                                         {kBoolean, "boolean"},
                                                                         {kNull, "null"}}};
  std::vector<std::string_view> names;
  for (const auto& [type, name] : kNames)
    if ((types & type) == type) {
      names.push_back(name);
      types &= ~type;
    }
  return names.empty() ? "number" : one_of_these(names);
}

// The keyword for the same bound, lower or upper, for one of the types; empty if there is none.
std::string_view bound_for(std::string_view keyword, unsigned types) {
  constexpr std::array<std::pair<unsigned, std::array<std::string_view, 2>>, 4> kBounds{
      {{kNumberTypes, {"minimum", "maximum"}},
       {kString, {"minLength", "maxLength"}},
       {kArray, {"minItems", "maxItems"}},
       {kObject, {"minProperties", "maxProperties"}}}};
  const bool is_low = keyword.starts_with("min");
  if (!is_low && !keyword.starts_with("max")) return {};
  for (const auto& [type, names] : kBounds)
    if (types & type) return names[is_low ? 0 : 1];
  return {};
}

std::string shown_place(const std::string& pointer) {
  return pointer == "#" ? "the schema" : fmt::format("'{}'", pointer);
}

}  // namespace

bool SchemaOversights::spend(size_t n) {
  if (n > steps_left_) is_complete_ = false;
  steps_left_ -= std::min(n, steps_left_);
  return is_complete_;
}

void SchemaOversights::look_at(const SchemaFacts& facts) {
  const bool has_any_type = !facts.values && facts.types == kAnyType && facts.not_values.empty();
  bool is_untyped_told = false;
  for (const Node part : facts.parts) {
    if (!spend(1 + part->size())) return;
    for (auto member = part->begin(); member != part->end(); ++member) {
      const std::string_view name = member.key();
      const Json* value = &member.value();
      const unsigned types = types_about(name, *value);
      if (types == kAnyType) continue;
      if (facts.values || (facts.types & types) != 0)
        effective_.insert(value);
      else if (facts.types != 0)
        keep({part, name, value, facts.types}, &Keyword::value, &idle_);
      if (has_any_type && !is_untyped_told)
        keep({part, name, value, types}, &Keyword::part, &untyped_);
      is_untyped_told = is_untyped_told || has_any_type;
    }
  }
  if (!facts.values && (facts.types & kObject)) look_at_required(facts);
}

void SchemaOversights::look_at_required(const SchemaFacts& facts) {
  if (facts.required.empty()) return;
  std::unordered_set<std::string_view> names;
  for (const Node part : facts.parts) {
    for (const char* others : {"patternProperties", "additionalProperties"})
      if (const Node more = SchemaDocument::find(part, others);
          more != nullptr && !is_trivial(others, *more))
        return;  // it says what values the name may have, or forbids the name
    const Node properties = SchemaDocument::find(part, "properties");
    if (properties == nullptr) continue;
    if (!spend(properties->size())) return;
    for (auto member = properties->begin(); member != properties->end(); ++member)
      names.insert(member.key());
  }
  if (names.empty() || !spend(facts.required.size())) return;
  for (const std::string& name : facts.required)
    if (!names.contains(name) && required_.size() < kMostKept)
      required_.push_back({facts.parts, name});
}

void SchemaOversights::look_at_value(const Json* value, bool fits) {
  if (!spend(1)) return;
  if (fits)
    effective_.insert(value);
  else
    keep(value, std::identity(), &unfit_);
}

std::string SchemaOversights::untyped_text(const Keyword& keyword) {
  const auto place = document_.pointer_of(keyword.part);
  if (!place) return {};
  const std::string type = type_names(keyword.types);
  return fmt::format(
      "{} has '{}' but no 'type', so any JSON of a type other than {} fits it too (hint: add "
      "\"type\": \"{}\")",
      shown_place(*place), keyword.name, type, type);
}

std::string SchemaOversights::idle_text(const Keyword& keyword) {
  const auto place = document_.pointer_of(keyword.value);
  if (!place) return {};
  const std::string_view bound = bound_for(keyword.name, keyword.types);
  return fmt::format("'{}' has no effect: it applies to the type {}, but the type there is {}{}",
                     *place, type_names(types_about(keyword.name, *keyword.value)),
                     type_names(keyword.types),
                     bound.empty() ? "" : fmt::format(" (hint: '{}'?)", bound));
}

std::string SchemaOversights::required_text(const Required& required) {
  for (const Node part : required.parts) {
    const Node list = SchemaDocument::find(part, "required");
    if (list == nullptr) continue;
    const auto found = std::ranges::find_if(
        *list, [&](const Json& one) { return one.get_ref<const std::string&>() == required.name; });
    if (found == list->end()) continue;
    const auto place = document_.pointer_of(&*found);
    if (!place) return {};
    return fmt::format(
        "'{}' is '{}', which is not in 'properties', so each answer has it with any value{}",
        *place, required.name, name_hint(required.parts, required.name));
  }
  return {};
}

std::string SchemaOversights::format_text(const Json* format) {
  const auto& name = format->get_ref<const std::string&>();
  const std::string hint = nearest_hint(name, format_names());
  if (const auto place = document_.pointer_of(format))
    return fmt::format("'{}' is '{}', a format that is not enforced{}", *place, name, hint);
  return fmt::format("the format '{}' is not enforced{}", name, hint);
}

std::vector<std::string> SchemaOversights::warnings() {
  constexpr size_t kMost = 8;
  std::vector<std::string> all;
  const auto add = [&](std::string text) {
    if (text.empty() || all.size() == kMost || document_.has_failed()) return;
    text = one_line(text);
    if (std::ranges::find(all, text) == all.end()) all.push_back(std::move(text));
  };
  const auto is_full = [&] { return all.size() == kMost || document_.has_failed(); };
  for (const Json* format : document_.unknown_formats())
    if (!is_full()) add(format_text(format));
  std::unordered_set<const void*> known;
  for (const Keyword& one : untyped_)
    if (!is_full() && known.insert(one.part).second) add(untyped_text(one));
  if (is_complete_)
    for (const Keyword& one : idle_)
      if (!is_full() && !effective_.contains(one.value) && known.insert(one.value).second)
        add(idle_text(one));
  for (const Required& one : required_)
    if (!is_full()) add(required_text(one));
  if (is_complete_)
    for (const Json* value : unfit_)
      if (!is_full() && !effective_.contains(value) && known.insert(value).second)
        if (document_.pointer_of(value))
          add(fmt::format("{}, but other keywords exclude it, so no answer has it",
                          document_.told(value)));
  return all;
}

}  // namespace pando::grammar
