#include "text/grammar/schema_places.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/counted.h"
#include "base/nearest.h"
#include "text/grammar/formats.h"

namespace pando::grammar {

void SchemaPlaces::add(const Json* value, std::vector<std::string>* all) const {
  std::string text = document_.told(value);
  if (std::ranges::find(*all, text) == all->end()) all->push_back(std::move(text));
}

bool SchemaPlaces::has_effect(Node part, std::string_view name, const Json& value,
                              unsigned types) const {
  if (name == "minContains") return !document_.is_draft_7();
  if (name == "additionalItems") {
    const Node items = SchemaDocument::find(part, "items");
    return items != nullptr && items->is_array();
  }
  if (name.starts_with("exclusiveM")) return value != Json(false);
  if (name == "format" && types != kAnyType) {
    const auto& format = value.get_ref<const std::string&>();
    if (!is_known_format(format)) return false;
    return bounds_of_format(format).has_value() == ((types & (kInteger | kFraction)) != 0);
  }
  return name != kNotValues ||
         std::ranges::any_of(value, [&](const Json& one) { return (type_of(one) & types) != 0; });
}

std::vector<std::string> SchemaPlaces::listed(const Parts& parts, Names names,
                                              unsigned types) const {
  std::vector<std::string> all;
  for (const std::string_view name : names)
    for (const Node part : parts) {
      if (document_.has_failed()) return {};
      const Node value = SchemaDocument::find(part, name);
      if (value != nullptr && has_effect(part, name, *value, types)) add(value, &all);
    }
  return all;
}

Told SchemaPlaces::counts(const Parts& parts, std::string_view least, std::string_view most) const {
  Node low = nullptr, high = nullptr;
  for (const Node part : parts) {
    const Node from = SchemaDocument::find(part, least), to = SchemaDocument::find(part, most);
    if (from != nullptr && (low == nullptr || count_of(*from) > count_of(*low))) low = from;
    if (to != nullptr && (high == nullptr || count_of(*to) < count_of(*high))) high = to;
  }
  std::vector<std::string> all;
  for (const Node one : {low, high})
    if (one != nullptr) add(one, &all);
  return joined(all);
}

Told SchemaPlaces::bounds(const SchemaFacts& facts) const {
  std::vector<std::string> all;
  for (const bool is_lower : {true, false})
    for (const SchemaFacts::Bound& bound : facts.bounds)
      if (bound.is_lower == is_lower) add_bound(facts.parts, bound, &all);
  return joined(all);
}

// Adds the text of the first keyword that gives the bound.
void SchemaPlaces::add_bound(const Parts& parts, const SchemaFacts::Bound& bound,
                             std::vector<std::string>* all) const {
  const char* inclusive = bound.is_lower ? "minimum" : "maximum";
  const char* exclusive = bound.is_lower ? "exclusiveMinimum" : "exclusiveMaximum";
  const auto is_at = [&](Node value) {
    const auto at = value == nullptr || value->is_boolean() ? std::nullopt : decimal_of(*value);
    return at && !is_less(*at, bound.at) && !is_less(bound.at, *at);
  };
  for (const Node part : parts) {
    const Node at = SchemaDocument::find(part, inclusive);
    const Node beside = SchemaDocument::find(part, exclusive);
    const bool makes_exclusive = beside != nullptr && *beside == Json(true);  // draft 4
    if (is_at(at) && makes_exclusive == bound.is_exclusive) {
      add(at, all);
      if (makes_exclusive) add(beside, all);
      return;
    }
    if (is_at(beside) && bound.is_exclusive) return add(beside, all);
  }
}

std::string SchemaPlaces::requires_name(const Parts& parts, const std::string& name) const {
  for (const Node part : parts)
    if (const Node list = SchemaDocument::find(part, "required"))
      if (std::find(list->begin(), list->end(), Json(name)) != list->end())
        if (const auto pointer = document_.pointer_of(list))
          return fmt::format("'{}' has '{}'{}", *pointer, name, name_hint(parts, name));
  return fmt::format("property '{}' is required", name);
}

Told SchemaPlaces::joined(const std::vector<std::string>& all) {
  constexpr size_t kMost = 6;
  if (all.empty()) return std::nullopt;
  if (all.size() == 1) return all[0];
  const std::span others = std::span(all).subspan(1, std::min(all.size(), kMost) - 1);
  const std::string left =
      all.size() > kMost ? " and " + counted(all.size() - kMost, "other conditions") : "";
  return fmt::format("{}, but {}{}", all[0], fmt::join(others, " and "), left);
}

Told SchemaPlaces::joined(std::vector<std::string> all, std::string last) {
  all.push_back(std::move(last));
  return joined(all);
}

std::string name_hint(const Parts& parts, std::string_view name) {
  constexpr size_t kMostCompared = 1000;
  std::vector<std::string_view> names;
  for (const Node part : parts)
    if (const Node properties = SchemaDocument::find(part, "properties"))
      for (auto member = properties->begin();
           member != properties->end() && names.size() < kMostCompared; ++member)
        names.push_back(member.key());
  return std::ranges::find(names, name) == names.end() ? nearest_hint(name, names) : "";
}

}  // namespace pando::grammar
