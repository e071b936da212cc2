#include "text/grammar/schema_unmet.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "text/grammar/schema_proofs.h"

namespace pando::grammar {

namespace {

using Keywords = std::vector<std::string_view>;

// Keywords that say something together, in the order in which they are looked at.
const std::vector<Keywords>& keyword_groups() {
  static const std::vector<Keywords> groups{
      {"type"},
      {kNotTypes},
      {"minimum", "exclusiveMinimum"},
      {"maximum", "exclusiveMaximum"},
      {"multipleOf"},
      {kNotMultiple},
      {"minLength"},
      {"maxLength"},
      {"pattern"},
      {kNotPattern},
      {"format"},
      {"minItems"},
      {"maxItems"},
      {"uniqueItems"},
      {"prefixItems", "items", "additionalItems"},
      {"contains", "minContains"},
      {kSomeItem},
      {"minProperties"},
      {"maxProperties"},
      {"required"},
      {"properties", "patternProperties", "additionalProperties"},
      {"propertyNames"},
      {kNotValues},
  };
  return groups;
}

// True if the keyword means something else without the other keywords of its group.
bool depends_on_others(Node part, std::string_view name) {
  if (name == "items")
    return !SchemaDocument::find(part, name)->is_array() ||
           SchemaDocument::find(part, "prefixItems") != nullptr;
  return name == "additionalItems" || name == "additionalProperties" || name == "minContains";
}

class UnmetSearch {
 public:
  UnmetSearch(const SchemaFacts& facts, SchemaCases* cases, SchemaDocument* document)
      : facts_(facts), cases_(*cases), document_(*document), places_(document) {
    for (const Keywords& group : keyword_groups())
      for (const Node part : facts.parts) {
        document->work(1 + part->size() / 64);
        Keywords names;
        for (const std::string_view name : group)
          if (const Node value = SchemaDocument::find(part, name))
            if (places_.has_effect(part, name, *value)) names.push_back(name);
        if (!names.empty()) conditions_.push_back({part, std::move(names)});
      }
  }

  Told find() {
    constexpr size_t kMostValues = 64;
    if (document_.has_failed()) return std::nullopt;
    if (facts_.values->size() > kMostValues) return of_none();
    std::vector<std::string> all = places_.listed(facts_.parts, {"const", "enum"});
    for (const Json* value : *facts_.values) {
      const std::vector<Node> unmet = unmet_by(*value);
      if (document_.has_failed()) return std::nullopt;
      if (unmet.empty()) return of_none();
      for (const Node keyword : unmet) {
        if (!told_.insert(keyword).second) continue;
        std::string text = document_.told(keyword);
        if (std::ranges::find(all, text) == all.end()) all.push_back(std::move(text));
      }
    }
    return SchemaPlaces::joined(all);
  }

 private:
  struct Condition {
    Node part;
    Keywords names;
  };

  // The keywords of the first condition that a value does not meet: one where it is to blame by
  // itself.
  std::vector<Node> unmet_by(const Json& value) {
    for (const Condition& condition : conditions_) {
      const Node part = condition.part;
      if (is_met(value, part, condition.names)) continue;
      if (document_.has_failed()) return {};
      std::vector<Node> all;
      for (const std::string_view name : condition.names) {
        const Node keyword = SchemaDocument::find(part, name);
        if (!depends_on_others(part, name) && !is_met(value, part, {name})) return {keyword};
        all.push_back(keyword);
      }
      return all;
    }
    return {};
  }

  // True if the value meets a schema with only these keywords of a part.
  bool is_met(const Json& value, Node part, const Keywords& names) {
    document_.work();
    if (document_.has_failed()) return false;
    const Node only = document_.made(part, fmt::format("only {}", fmt::join(names, "+")), [&] {
      Json schema = Json::object();
      for (const std::string_view name : names)
        schema[std::string(name)] = *SchemaDocument::find(part, name);
      return schema;
    });
    const auto facts = cases_.facts_of({only});
    return !document_.has_failed() && meets(value, *facts, &cases_, &document_);
  }

  Told of_none() {
    for (const char* name : {"const", "enum"})
      for (const Node part : facts_.parts)
        if (const Node values = SchemaDocument::find(part, name))
          if (const auto pointer = document_.pointer_of(values))
            return fmt::format("'{}' has no value that meets the other conditions", *pointer);
    return std::nullopt;
  }

  const SchemaFacts& facts_;
  SchemaCases& cases_;
  SchemaDocument& document_;
  SchemaPlaces places_;
  std::vector<Condition> conditions_;
  std::set<Node> told_;
};

}  // namespace

Told unmet_of(const SchemaFacts& facts, SchemaCases* cases, SchemaDocument* document) {
  return UnmetSearch(facts, cases, document).find();
}

}  // namespace pando::grammar
