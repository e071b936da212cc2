#include "text/grammar/schema_conflict.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <span>

#include "base/counted.h"
#include "text/grammar/limits.h"
#include "text/grammar/schema_facts.h"
#include "text/grammar/schema_proofs.h"

namespace pando::grammar {

namespace {

using Told = std::optional<std::string>;  // nothing: no place is to blame

bool is_false(Node schema) { return schema->is_boolean() && !schema->get<bool>(); }

class ConflictSearch {
 public:
  ConflictSearch(SchemaCases* cases, SchemaDocument* document,
                 const std::function<bool(const Parts&)>& has_no_text)
      : cases_(*cases), document_(*document), has_no_text_(has_no_text) {}

  std::string find() {
    if (Told found = of_schemas({document_.root()}); found && !document_.has_failed())
      return *found;
    if (loop_.empty() || document_.has_failed()) return {};
    return fmt::format(
        "every text would be endless, because each value of '{}' must contain another one", loop_);
  }

 private:
  // Of schemas that hold together and have no text.
  Told of_schemas(const Parts& schemas) {
    if (document_.has_failed() || known_.size() > kMostNesting) return std::nullopt;
    if (!known_.insert(schemas).second) {
      if (loop_.empty() && !schemas.empty()) loop_ = document_.pointer_of(schemas[0]).value_or("");
      return std::nullopt;
    }
    const std::vector<Parts> cases = cases_.of(schemas);
    if (document_.has_failed()) return std::nullopt;
    if (cases.empty()) return of_never(schemas);
    for (const Parts& parts : cases)
      if (const Told found = of_case(parts))
        return cases.size() == 1 ? found
                                 : fmt::format("none of {} is possible; in one of them, {}",
                                               counted(cases.size(), "alternatives"), *found);
    return std::nullopt;
  }

  // Where the schema has "false", or a "not" of everything.
  Told of_never(const Parts& schemas) {
    for (const Node schema : schemas)
      if (const Node found = never_in(schema, 0)) return document_.told(found);
    const auto pointer = document_.pointer_of(schemas[0]);
    if (!pointer) return std::nullopt;
    return fmt::format("'{}' allows no value", *pointer);
  }
  Node never_in(Node schema, size_t depth) {
    if (is_false(schema)) return schema;
    document_.work();
    if (!schema->is_object() || depth > kMostNesting || document_.has_failed()) return nullptr;
    if (const Node reference = SchemaDocument::find(schema, "$ref"))
      if (const Node target = document_.target_of(schema, *reference))
        if (const Node found = never_in(target, depth + 1)) return found;
    if (const Node all = SchemaDocument::find(schema, "allOf"))
      for (const Json& one : *all)
        if (const Node found = never_in(&one, depth + 1)) return found;
    for (const char* name : {"anyOf", "oneOf"})
      if (const Node list = SchemaDocument::find(schema, name); list != nullptr) {
        Node first = nullptr;
        bool are_all = true;
        for (const Json& one : *list) {
          const Node found = never_in(&one, depth + 1);
          if (first == nullptr) first = found;
          are_all = are_all && found != nullptr;
        }
        if (are_all) return first;
      }
    const Node inside = SchemaDocument::find(schema, "not");
    if (inside != nullptr && (*inside == Json(true) || *inside == Json::object())) return inside;
    return nullptr;
  }

  Told of_case(const Parts& parts) {
    const SchemaFacts facts(parts, &document_);
    if (document_.has_failed()) return std::nullopt;
    if (facts.values && facts.values->empty()) return told(parts, {"enum", "const"});
    if (facts.types == 0) return told(parts, {"type", kNotTypes, "enum", "const"});
    if (facts.values) return of_values(facts);
    if (facts.types & kObject) return of_object(facts);
    if (facts.types & kArray) return of_array(facts);
    if (facts.types & (kInteger | kFraction)) return of_number(facts);
    if (facts.types & kString) {
      if (facts.min_length > facts.max_length) return told(parts, {"minLength", "maxLength"});
      return told(parts, {"pattern", kNotPattern, "format", "minLength", "maxLength", kNotValues});
    }
    return told(parts, {"type", kNotValues});
  }

  // Of values that do not meet the other keywords: the first keyword that the first value fails.
  Told of_values(const SchemaFacts& facts) {
    const Json& value = *facts.values->front();
    for (const Node part : facts.parts)
      for (const auto& [name, inside] : part->items()) {
        if (name == "enum" || name == "const") continue;
        const bool is_met =
            meets(value, SchemaFacts({alone(part, name, inside)}, &document_), &cases_, &document_);
        if (document_.has_failed()) return std::nullopt;
        if (is_met) continue;
        std::vector<std::string> all = listed(facts.parts, {"const", "enum"});
        all.resize(std::min<size_t>(all.size(), 1));
        all.push_back(document_.told(&inside));
        return joined(all);
      }
    return told(facts.parts, {"const", "enum", "type", kNotValues});
  }

  // A schema with one keyword of a part.
  Node alone(Node part, const std::string& name, const Json& value) {
    return document_.made(part, "only " + name, [&] { return Json{{name, value}}; });
  }

  Told of_number(const SchemaFacts& facts) {
    const bool has_both = facts.bounds.size() == 2;
    const auto low = std::ranges::find(facts.bounds, true, &SchemaFacts::Bound::is_lower);
    const auto high = std::ranges::find(facts.bounds, false, &SchemaFacts::Bound::is_lower);
    if (has_both && !is_less(low->at, high->at))
      return told(facts.parts, {"minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"});
    return told(facts.parts, {"type", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum",
                              "multipleOf", kNotMultiple, "format", kNotValues, kNotTypes});
  }

  Told of_array(const SchemaFacts& facts) {
    if (facts.min_items > facts.max_items) return told(facts.parts, {"minItems", "maxItems"});
    const size_t n_prefix = n_prefix_items(facts.parts);
    for (size_t i = 0; i < facts.min_items && i <= n_prefix; ++i) {
      const Parts items = item_of(facts.parts, i);
      if (!has_no_text_(items)) continue;
      if (const Node never = false_of(items))
        return joined(listed(facts.parts, {"minItems"}), document_.told(never));
      if (Told found = of_schemas(items)) return found;
    }
    for (const SchemaFacts::Contained& one : facts.contained) {
      Parts items = item_of(facts.parts, n_prefix);
      items.push_back(one.schema);
      if (n_prefix > 0 || !has_no_text_(items)) continue;
      if (Told found = of_schemas(items)) return found;
    }
    return told(facts.parts,
                {"minItems", "contains", kSomeItem, "maxItems", "prefixItems", "items"});
  }

  Told of_object(const SchemaFacts& facts) {
    const size_t n_required = facts.required.size();
    if (facts.min_properties > facts.max_properties)
      return told(facts.parts, {"minProperties", "maxProperties"});
    if (n_required > facts.max_properties) return told(facts.parts, {"required", "maxProperties"});
    bool is_endless = false;
    for (const std::string& name : facts.required) {
      const Parts inside = property_of(facts.parts, name, &document_);
      if (document_.has_failed()) return std::nullopt;
      const Node never = false_of(inside);
      if (never != nullptr)
        return joined({requires_name(facts.parts, name)}, document_.told(never));
      if (!has_no_text_(inside)) {
        if (const Node names = names_without(facts.parts, name))
          return joined({requires_name(facts.parts, name)}, document_.told(names));
      } else if (Told found = of_schemas(inside)) {
        return found;
      } else {
        is_endless = true;
      }
    }
    if (is_endless) return std::nullopt;
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

  // "'#/required' has 'a'"
  std::string requires_name(const Parts& parts, const std::string& name) const {
    for (const Node part : parts)
      if (const Node list = SchemaDocument::find(part, "required"))
        if (std::find(list->begin(), list->end(), Json(name)) != list->end())
          if (const auto pointer = document_.pointer_of(list))
            return fmt::format("'{}' has '{}'", *pointer, name);
    return fmt::format("property '{}' is required", name);
  }

  // What the parts say by some keywords, at most two values of each.
  std::vector<std::string> listed(const Parts& parts,
                                  std::initializer_list<std::string_view> names) const {
    std::vector<std::string> all;
    for (const std::string_view name : names) {
      size_t n = 0;
      for (const Node part : parts)
        if (const Node value = n < 2 ? SchemaDocument::find(part, name) : nullptr) {
          ++n;
          std::string text = document_.told(value);
          if (std::ranges::find(all, text) == all.end()) all.push_back(std::move(text));
        }
    }
    return all;
  }
  Told told(const Parts& parts, std::initializer_list<std::string_view> names) const {
    return joined(listed(parts, names));
  }
  static Told joined(std::vector<std::string> all, std::string last) {
    all.push_back(std::move(last));
    return joined(all);
  }
  // "A, but B and C"
  static Told joined(const std::vector<std::string>& all) {
    constexpr size_t kMost = 6;
    if (all.empty()) return std::nullopt;
    if (all.size() == 1) return all[0];
    const std::span others = std::span(all).subspan(1, std::min(all.size(), kMost) - 1);
    return fmt::format("{}, but {}", all[0], fmt::join(others, " and "));
  }

  SchemaCases& cases_;
  SchemaDocument& document_;
  const std::function<bool(const Parts&)>& has_no_text_;
  std::set<Parts> known_;
  std::string loop_;  // the first place that leads back to itself
};

}  // namespace

std::string conflict_of(SchemaCases* cases, SchemaDocument* document,
                        const std::function<bool(const Parts&)>& has_no_text) {
  return ConflictSearch(cases, document, has_no_text).find();
}

}  // namespace pando::grammar
