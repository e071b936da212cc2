#include "text/grammar/schema_cases.h"

#include <algorithm>
#include <array>

#include "text/grammar/limits.h"
#include "text/grammar/schema_proofs.h"

namespace pando::grammar {

namespace {

// Keywords that say something about a value by itself.
constexpr std::array<std::string_view, 28> kFacts{"type",
                                                  "enum",
                                                  "const",
                                                  "minimum",
                                                  "maximum",
                                                  "multipleOf",
                                                  "minLength",
                                                  "maxLength",
                                                  "pattern",
                                                  "format",
                                                  "minItems",
                                                  "maxItems",
                                                  "uniqueItems",
                                                  "items",
                                                  "prefixItems",
                                                  "additionalItems",
                                                  "properties",
                                                  "required",
                                                  "patternProperties",
                                                  "additionalProperties",
                                                  "propertyNames",
                                                  "minProperties",
                                                  "maxProperties",
                                                  "exclusiveMinimum",
                                                  "exclusiveMaximum",
                                                  kNotPattern,
                                                  kNotValues,
                                                  kNotTypes};

bool has_facts(Node schema) {
  for (const auto& [name, value] : schema->items())
    if (std::find(kFacts.begin(), kFacts.end(), name) != kFacts.end()) return true;
  return false;
}

}  // namespace

const std::vector<Parts>& SchemaCases::of(const Parts& schemas) {
  auto& memo = is_loose() ? loose_cases_ : cases_;
  const auto [at, is_new] = memo.try_emplace(schemas);
  if (!is_new) return at->second;
  Open open;
  for (const Node schema : schemas) add(&open, schema);
  std::vector<Parts> cases;
  expand(std::move(open), &cases);
  return memo[schemas] = std::move(cases);
}

void SchemaCases::add(Open* open, Node schema, size_t from) {
  std::vector<Open::Seen> todo{{schema, from}};
  while (!todo.empty() && !document_.has_failed()) {
    const Node at = todo.back().schema;
    const size_t met_by = todo.back().from;
    todo.pop_back();
    document_.check(at);
    document_.work(1 + open->seen.size() / 64);
    if (document_.has_failed()) return;
    if (at->is_boolean()) {
      open->is_never = open->is_never || !at->get<bool>();
      continue;
    }
    const bool is_known = std::any_of(open->seen.begin(), open->seen.end(),
                                      [&](const Open::Seen& one) { return one.schema == at; });
    if (is_known) {
      // What holds already, unless it is what is being asked.
      for (size_t i = met_by; i != SIZE_MAX; i = open->seen[i].from)
        if (open->seen[i].schema == at)
          return document_.refuse(
              at, "a reference that leads back to it without a property or an item between");
      continue;
    }
    const size_t place = open->seen.size();
    open->seen.push_back({at, met_by});
    std::vector<Open::Seen> next;
    if (const Node reference = SchemaDocument::find(at, "$ref")) {
      const Node target = document_.target_of(at, *reference);
      if (target == nullptr) return;
      next.push_back({target, place});
      if (document_.ref_hides_siblings()) {
        todo.push_back({target, place});
        continue;
      }
    }
    if (has_facts(at)) open->parts.push_back(at);
    if (const Node all = SchemaDocument::find(at, "allOf"))
      for (const Json& one : *all) next.push_back({&one, place});
    add_choices(open, at);
    todo.insert(todo.end(), next.rbegin(), next.rend());
  }
}

void SchemaCases::add_choices(Open* open, Node at) {
  for (const char* name : {"anyOf", "oneOf"})
    if (const Node list = SchemaDocument::find(at, name)) {
      Choice choice{.met_at = open->seen.size() - 1};
      for (const Json& one : *list) choice.branches.push_back(&one);
      if (name == std::string_view("oneOf") && list->size() > 1) choice.one_of = at;
      open->choices.push_back(std::move(choice));
    }
  if (const Node inside = SchemaDocument::find(at, "not")) {
    Choice choice{negated(inside), open->seen.size() - 1};
    if (document_.has_failed() && is_loose())
      document_.forget_error();  // all the more values
    else
      open->choices.push_back(std::move(choice));
  }
  const Node condition = SchemaDocument::find(at, "if");
  const Node then = SchemaDocument::find(at, "then"), otherwise = SchemaDocument::find(at, "else");
  if (condition != nullptr && (then != nullptr || otherwise != nullptr)) {
    Choice choice{.met_at = open->seen.size() - 1};
    choice.branches.push_back(document_.made(at, "then", [&] {
      return Json{{"allOf", Json::array({*condition, then != nullptr ? *then : Json(true)})}};
    }));
    choice.branches.push_back(document_.made(at, "else", [&] {
      return Json{{"allOf", Json::array({Json{{"not", *condition}},
                                         otherwise != nullptr ? *otherwise : Json(true)})}};
    }));
    open->choices.push_back(std::move(choice));
  }
  for (const char* name : {"dependencies", "dependentRequired", "dependentSchemas"})
    if (const Node needs = SchemaDocument::find(at, name))
      for (const auto& [property, needed] : needs->items())
        open->choices.push_back({dependency_branches(at, property, needed), open->seen.size() - 1});
}

// The property is not there, or what it needs holds.
Parts SchemaCases::dependency_branches(Node schema, const std::string& name, const Json& needed) {
  const Node without = document_.made(schema, "without " + name, [&] {
    return Json{{"properties", Json{{name, false}}}};
  });
  const Node with = document_.made(schema, "needs " + name + (needed.is_array() ? "[]" : ""), [&] {
    Json all{{"type", "object"}, {"required", Json::array({name})}};
    if (needed.is_array())
      for (const Json& other : needed) all["required"].push_back(other);
    else
      all["allOf"] = Json::array({needed});
    return all;
  });
  return {without, with};
}

void SchemaCases::expand(Open open, std::vector<Parts>* out) {
  document_.work();
  if (open.is_never || document_.has_failed()) return;
  if (open.choices.empty()) {
    if (std::find(out->begin(), out->end(), open.parts) == out->end())
      out->push_back(std::move(open.parts));
    if (out->size() > kMostCases)
      document_.keep(
          unsupported("a schema that expands to more than {} cases at one place (hint: fewer "
                      "combinations of anyOf, oneOf and allOf)",
                      kMostCases));
    return;
  }
  const Choice choice = std::move(open.choices.front());
  open.choices.erase(open.choices.begin());
  if (choice.one_of != nullptr && !is_loose()) return expand_one_of(open, choice, out);
  for (const Node branch : choice.branches) {
    Open with = open;
    add(&with, branch, choice.met_at);
    expand(std::move(with), out);
  }
}

void SchemaCases::expand_one_of(const Open& open, const Choice& choice, std::vector<Parts>* out) {
  const size_t n = choice.branches.size();
  std::vector<std::vector<Parts>> cases(n);
  for (size_t i = 0; i < n; ++i) {
    Open with = open;
    add(&with, choice.branches[i], choice.met_at);
    expand(std::move(with), &cases[i]);
  }
  if (document_.has_failed()) return;
  const auto meet = [&](size_t i, size_t j) {
    for (const Parts& a : cases[i])
      for (const Parts& b : cases[j]) {
        Parts both = a;
        for (const Node part : b)
          if (std::find(both.begin(), both.end(), part) == both.end()) both.push_back(part);
        if (!is_surely_empty(both)) return true;
      }
    return false;
  };
  for (size_t i = 0; i < n && !document_.has_failed(); ++i) {
    Open with = open;
    add(&with, choice.branches[i], choice.met_at);
    bool is_changed = false;
    for (size_t j = 0; j < n && !document_.has_failed(); ++j) {
      if (j == i || !meet(std::min(i, j), std::max(i, j))) continue;
      is_changed = true;
      add(&with, document_.made(choice.branches[j], "not", [&] {
        return Json{{"not", *choice.branches[j]}};
      }));
    }
    if (document_.has_failed()) {
      document_.forget_error();
      return document_.refuse(choice.one_of,
                              "a 'oneOf' of which several branches may hold for one value");
    }
    if (!is_changed)
      for (const Parts& parts : cases[i]) {
        if (std::find(out->begin(), out->end(), parts) == out->end()) out->push_back(parts);
      }
    else
      expand(std::move(with), out);
  }
}

bool SchemaCases::is_surely_empty(const Parts& parts) {
  ++looseness_;
  const bool is_empty = grammar::is_surely_empty(parts, this, &document_, 0);
  --looseness_;
  return is_empty;
}

}  // namespace pando::grammar
