#include "text/grammar/schema_conflict.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>

#include "base/counted.h"
#include "base/nearest.h"
#include "text/grammar/formats.h"
#include "text/grammar/limits.h"
#include "text/grammar/schema_proofs.h"

namespace pando::grammar {

namespace {

using Told = std::optional<std::string>;  // nothing: no place is to blame
using Texts = std::vector<std::string>;   // "'#/minimum' is 5"

constexpr unsigned kNumber = kInteger | kFraction;

void add_once(std::string text, Texts* all) {
  if (std::ranges::find(*all, text) == all->end()) all->push_back(std::move(text));
}

// "A, but B and C"; only the first ones if there are many.
Told joined(const Texts& all) {
  constexpr size_t kMost = 6;
  if (all.empty()) return std::nullopt;
  if (all.size() == 1) return all[0];
  const std::span others = std::span(all).subspan(1, std::min(all.size(), kMost) - 1);
  const std::string left =
      all.size() > kMost ? " and " + counted(all.size() - kMost, "other conditions") : "";
  return fmt::format("{}, but {}{}", all[0], fmt::join(others, " and "), left);
}

// " (hint: 'NAME'?)" with the nearest property, of the first ones of very many. Empty if none is
// near, or if `name` is one of them.
std::string property_hint(const Parts& parts, std::string_view name) {
  constexpr size_t kMostCompared = 1000;
  std::vector<std::string_view> names;
  for (const Node part : parts)
    if (const Node properties = SchemaDocument::find(part, "properties"))
      for (auto member = properties->begin();
           member != properties->end() && names.size() < kMostCompared; ++member)
        names.push_back(member.key());
  return std::ranges::find(names, name) == names.end() ? nearest_hint(name, names) : "";
}

class ConflictSearch {
 public:
  ConflictSearch(SchemaCases* cases, SchemaDocument* document,
                 const std::function<bool(const Parts&)>& has_no_text)
      : cases_(*cases), document_(*document), has_no_text_(has_no_text) {}

  std::string find(const Parts& schemas) {
    const Told found = of_schemas(schemas);
    if (document_.has_failed()) return {};
    if (found) return *found;
    if (!is_endless_ || is_unknown_) return {};
    std::optional<std::string> pointer;
    if (loop_ != nullptr) pointer = document_.pointer_of(loop_);
    if (document_.has_failed()) return {};
    if (!pointer) return "every text would be endless";
    return fmt::format(
        "every text would be endless, because each value of '{}' must contain another one",
        *pointer);
  }

 private:
  // Reason why schemas that hold together have no text.
  Told of_schemas(const Parts& schemas) {
    document_.work(1 + schemas.size() / 16);
    if (document_.has_failed()) return std::nullopt;
    const auto known = schemas_seen_.find(schemas);
    if (known != schemas_seen_.end()) return of_known(schemas, known->second);
    if (schemas_seen_.size() > kMostNesting) return known_only({});
    bool& is_open = schemas_seen_[schemas];
    is_open = true;
    const Told found = of_cases(schemas);
    is_open = false;
    return found;
  }

  Told of_cases(const Parts& schemas) {
    const std::vector<Parts>& cases = cases_.of(schemas);
    if (document_.has_failed()) return std::nullopt;
    if (cases.empty()) return known_only(of_never(schemas));
    const bool is_choice = cases.size() > 1;
    n_choices_ += is_choice;
    Told found;
    for (const Parts& parts : cases) {
      document_.work(1 + parts.size());
      if (found || document_.has_failed()) break;
      const auto known = cases_seen_.find(parts);
      if (known != cases_seen_.end()) {
        of_known(schemas, known->second);
        continue;
      }
      bool& is_open = cases_seen_[parts];
      is_open = true;
      found = of_case(parts);
      is_open = false;
    }
    n_choices_ -= is_choice;
    if (found && is_choice)
      return fmt::format("none of {} is possible; in one of them, {}",
                         counted(cases.size(), "alternatives"), *found);
    return found;
  }

  // Schemas that are still open lead back to themselves. If the path has no choice, this place
  // explains everything.
  Told of_known(const Parts& schemas, bool is_open) {
    if (!is_open) return std::nullopt;
    is_endless_ = true;
    if (loop_ == nullptr && n_choices_ == 0 && schemas.size() == 1) loop_ = schemas[0];
    return std::nullopt;
  }

  // Remembers that something has no text for a reason that is not found.
  Told known_only(Told found) {
    is_unknown_ = is_unknown_ || !found;
    return found;
  }

  // True if the keyword constrains values of these types.
  bool has_effect(Node part, std::string_view name, const Json& value, unsigned types) const {
    if (name == "minContains") return !document_.is_draft_7();
    if (name == "additionalItems") {
      const Node items = SchemaDocument::find(part, "items");
      return items != nullptr && items->is_array();
    }
    if (name.starts_with("exclusiveM")) return value != Json(false);
    if (name == "format" && types != kAnyType) {
      const auto& format = value.get_ref<const std::string&>();
      if (!is_known_format(format)) return false;
      return bounds_of_format(format).has_value() == ((types & kNumber) != 0);
    }
    return name != kNotValues ||
           std::ranges::any_of(value, [&](const Json& one) { return (type_of(one) & types) != 0; });
  }

  using Names = std::initializer_list<std::string_view>;  // of keywords
  // Adds a text for each of some keywords in the parts that is about values of these types.
  void list(const Parts& parts, Names names, unsigned types, Texts* all) {
    for (const std::string_view name : names)
      for (const Node part : parts) {
        if (document_.has_failed()) return;
        const Node value = SchemaDocument::find(part, name);
        if (value != nullptr && has_effect(part, name, *value, types))
          add_once(document_.told(value), all);
      }
  }
  Told told(const Parts& parts, Names names, unsigned types = kAnyType) {
    Texts all;
    list(parts, names, types, &all);
    return known_only(joined(all));
  }

  Told of_never(const Parts& schemas) {
    const Node never = cases_.never_of(schemas);
    return never == nullptr ? Told() : document_.told(never);
  }

  Told of_case(const Parts& parts) {
    const SchemaFacts facts(parts, &document_);
    if (document_.has_failed()) return std::nullopt;
    if (facts.values && facts.values->empty()) return told(parts, {"enum", "const"});
    if (facts.types == 0) return told(parts, {"type", kNotTypes, "enum", "const"});
    if (facts.values) return of_values(facts);
    std::vector<unsigned> types;
    for (const unsigned type :
         {+kObject, +kArray, kInteger | kFraction, +kString, +kNull, +kBoolean})
      if (facts.types & type) types.push_back(type);
    const bool is_choice = types.size() > 1;
    n_choices_ += is_choice;
    Told found;
    for (const unsigned type : types)
      if (!found && !document_.has_failed()) found = of_type(facts, type);
    n_choices_ -= is_choice;
    if (found && is_choice)
      return fmt::format("none of {} is possible; for one of them, {}",
                         counted(types.size(), "types"), *found);
    return found;
  }

  // Listed values none of which meets the other keywords.
  Told of_values(const SchemaFacts& facts) {
    Texts all;
    list(facts.parts, {"const", "enum"}, kAnyType, &all);
    for (const Node part : facts.parts)
      for (auto member = part->begin(); member != part->end(); ++member) {
        if (document_.has_failed()) return std::nullopt;
        const std::string& name = member.key();
        if ((is_fact(name) || name == "minContains") && has_effect(part, name, *member, kAnyType))
          add_once(document_.told(&*member), &all);
      }
    return known_only(joined(all));
  }

  Told of_type(const SchemaFacts& facts, unsigned type) {
    if (type == kObject) return of_object(facts);
    if (type == kArray) return of_array(facts);
    if (type == kNumber) return of_number(facts);
    if (type != kString) return told(facts.parts, {"type", kNotTypes, kNotValues}, type);
    if (facts.min_length > facts.max_length) return told(facts.parts, {"minLength", "maxLength"});
    return told(facts.parts,
                {"pattern", kNotPattern, "format", "minLength", "maxLength", kNotValues}, type);
  }

  Told of_number(const SchemaFacts& facts) {
    if (bounds_contradict(facts))
      return told(facts.parts, {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"});
    Texts all;
    if ((facts.types & kNumber) != kNumber) list(facts.parts, {"type", kNotTypes}, kAnyType, &all);
    list(facts.parts,
         {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf", kNotMultiple,
          "format", kNotValues},
         kNumber, &all);
    return known_only(joined(all));
  }

  Told of_array(const SchemaFacts& facts) {
    if (facts.min_items > facts.max_items) return told(facts.parts, {"minItems", "maxItems"});
    const size_t n_prefix = n_prefix_items(facts.parts);
    bool is_told_inside = false;
    const auto of_items = [&](const Parts& items) {
      is_told_inside = true;
      return of_schemas(items);
    };
    for (size_t i = 0; i < facts.min_items && i <= n_prefix; ++i) {
      document_.work(1 + facts.parts.size());
      if (document_.has_failed()) return std::nullopt;
      const Parts items = item_of(facts.parts, i);
      if (!has_no_text_(items)) continue;
      if (const Node never = false_of(items)) {
        Texts all;
        list(facts.parts, {"minItems"}, kAnyType, &all);
        all.push_back(document_.told(never));
        return joined(all);
      }
      if (Told found = of_items(items)) return found;
    }
    for (const SchemaFacts::Contained& one : facts.contained) {
      document_.work(1 + facts.parts.size());
      if (document_.has_failed()) return std::nullopt;
      Parts items = item_of(facts.parts, n_prefix);
      items.push_back(one.schema);
      if (n_prefix > 0 || !has_no_text_(items)) continue;
      if (Told found = of_items(items)) return found;
    }
    if (is_told_inside) return std::nullopt;
    return told(facts.parts, {"minItems", "contains", "minContains", kSomeItem, "maxItems",
                              "prefixItems", "items", "additionalItems"});
  }

  Told of_object(const SchemaFacts& facts) {
    if (facts.min_properties > facts.max_properties)
      return told(facts.parts, {"minProperties", "maxProperties"});
    if (facts.required.size() > facts.max_properties)
      return told(facts.parts, {"required", "maxProperties"});
    size_t n_looked_at = 1;  // for each name
    for (const Node part : facts.parts) {
      const Node patterns = SchemaDocument::find(part, "patternProperties");
      n_looked_at += 1 + (patterns != nullptr ? patterns->size() / 8 : 0);
    }
    bool is_told_inside = false;
    for (const std::string& name : facts.required) {
      document_.work(n_looked_at);
      if (document_.has_failed()) return std::nullopt;
      const Parts inside = property_of(facts.parts, name, &document_);
      if (document_.has_failed()) return std::nullopt;
      Node to_blame = false_of(inside);
      if (to_blame == nullptr && !has_no_text_(inside)) {
        to_blame = names_without(facts.parts, name);
        if (to_blame == nullptr) continue;
      }
      if (to_blame != nullptr)
        return joined({requires_name(facts.parts, name), document_.told(to_blame)});
      if (Told found = of_schemas(inside)) return found;
      is_told_inside = true;
    }
    if (is_told_inside) return std::nullopt;
    return told(facts.parts, {"minProperties", "required", "properties", "patternProperties",
                              "additionalProperties", "propertyNames", "maxProperties"});
  }

  // "'#/required' has 'a'"
  std::string requires_name(const Parts& parts, const std::string& name) {
    for (const Node part : parts)
      if (const Node list = SchemaDocument::find(part, "required"))
        if (std::ranges::find(*list, Json(name)) != list->end())
          if (const auto pointer = document_.pointer_of(list))
            return fmt::format("'{}' has '{}'{}", *pointer, name, property_hint(parts, name));
    return fmt::format("property '{}' is required", name);
  }

  // A "propertyNames" that a name is not valid under.
  Node names_without(const Parts& parts, const std::string& name) {
    for (const Node part : parts)
      if (const Node names = SchemaDocument::find(part, "propertyNames"))
        if (!is_valid(Json(name), {names}, &cases_, &document_)) return names;
    return nullptr;
  }

  static Node false_of(const Parts& schemas) {
    const auto found = std::ranges::find_if(schemas, is_false);
    return found == schemas.end() ? nullptr : *found;
  }

  SchemaCases& cases_;
  SchemaDocument& document_;
  const std::function<bool(const Parts&)>& has_no_text_;
  // Schemas and cases that were met; true if on the present path.
  std::map<Parts, bool> schemas_seen_, cases_seen_;
  size_t n_choices_ = 0;  // on the present path: places with alternatives, or with several types
  bool is_endless_ = false, is_unknown_ = false;
  Node loop_ = nullptr;  // the first place that leads back to itself, where it must
};

}  // namespace

std::string conflict_of(const Parts& schemas, SchemaCases* cases, SchemaDocument* document,
                        const std::function<bool(const Parts&)>& has_no_text) {
  return ConflictSearch(cases, document, has_no_text).find(schemas);
}

}  // namespace pando::grammar
