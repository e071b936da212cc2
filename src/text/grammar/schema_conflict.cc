#include "text/grammar/schema_conflict.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/counted.h"
#include "text/grammar/limits.h"
#include "text/grammar/schema_never.h"
#include "text/grammar/schema_places.h"
#include "text/grammar/schema_proofs.h"
#include "text/grammar/schema_unmet.h"

namespace pando::grammar {

namespace {

class ConflictSearch {
 public:
  ConflictSearch(SchemaCases* cases, SchemaDocument* document,
                 const std::function<bool(const Parts&)>& has_no_text)
      : cases_(*cases),
        document_(*document),
        has_no_text_(has_no_text),
        places_(document),
        never_(document) {}

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

  std::string find_in_case(const Parts& parts) {
    const Told found = of_case(parts);
    return found && !document_.has_failed() ? *found : std::string();
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
  Told told(const Parts& parts, SchemaPlaces::Names names, unsigned types = kAnyType) {
    return known_only(places_.told(parts, names, types));
  }

  // Names the "false", or the "not" of everything, in the schemas.
  Told of_never(const Parts& schemas) {
    for (const Node schema : schemas)
      if (const Node found = never_.find(schema)) return document_.told(found);
    for (const Node schema : schemas)
      if (cases_.of({schema}).empty() && !document_.has_failed())
        if (const auto pointer = document_.pointer_of(schema))
          return fmt::format("'{}' allows no value", *pointer);
    return std::nullopt;
  }

  Told of_case(const Parts& parts) {
    const SchemaFacts facts(parts, &document_);
    if (document_.has_failed()) return std::nullopt;
    if (facts.values && facts.values->empty()) return told(parts, {"enum", "const"});
    if (facts.types == 0) return told(parts, {"type", kNotTypes, "enum", "const"});
    if (facts.values) return known_only(unmet_of(facts, &cases_, &document_));
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

  Told of_type(const SchemaFacts& facts, unsigned type) {
    if (type == kObject) return of_object(facts);
    if (type == kArray) return of_array(facts);
    if (type == (kInteger | kFraction)) return of_number(facts);
    if (type != kString) return told(facts.parts, {"type", kNotTypes, kNotValues}, type);
    if (facts.min_length > facts.max_length)
      return known_only(places_.counts(facts.parts, "minLength", "maxLength"));
    return told(facts.parts,
                {"pattern", kNotPattern, "format", "minLength", "maxLength", kNotValues}, type);
  }

  Told of_number(const SchemaFacts& facts) {
    if (bounds_contradict(facts)) return known_only(places_.bounds(facts));
    constexpr unsigned kNumber = kInteger | kFraction;
    const bool is_any_number = (facts.types & kNumber) == kNumber;
    std::vector<std::string> all;
    if (!is_any_number) all = places_.listed(facts.parts, {"type", kNotTypes});
    for (std::string& text :
         places_.listed(facts.parts,
                        {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf",
                         kNotMultiple, "format", kNotValues},
                        kNumber))
      all.push_back(std::move(text));
    return known_only(SchemaPlaces::joined(all));
  }

  Told of_array(const SchemaFacts& facts) {
    if (facts.min_items > facts.max_items)
      return known_only(places_.counts(facts.parts, "minItems", "maxItems"));
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
      if (const Node never = false_of(items))
        return SchemaPlaces::joined(places_.listed(facts.parts, {"minItems"}),
                                    document_.told(never));
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
      return known_only(places_.counts(facts.parts, "minProperties", "maxProperties"));
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
        return SchemaPlaces::joined({places_.requires_name(facts.parts, name)},
                                    document_.told(to_blame));
      if (Told found = of_schemas(inside)) return found;
      is_told_inside = true;
    }
    if (is_told_inside) return std::nullopt;
    return told(facts.parts, {"minProperties", "required", "properties", "patternProperties",
                              "additionalProperties", "propertyNames", "maxProperties"});
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
  SchemaPlaces places_;
  NeverSearch never_;
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

std::string conflict_of_case(const Parts& parts, SchemaCases* cases, SchemaDocument* document,
                             const std::function<bool(const Parts&)>& has_no_text) {
  return ConflictSearch(cases, document, has_no_text).find_in_case(parts);
}

}  // namespace pando::grammar
