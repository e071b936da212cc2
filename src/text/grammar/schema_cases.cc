#include "text/grammar/schema_cases.h"

#include <algorithm>
#include <array>

#include "text/grammar/limits.h"
#include "text/grammar/schema_facts.h"
#include "text/grammar/schema_proofs.h"

namespace pando::grammar {

namespace {

// Keywords that say something about a value by itself.
constexpr std::array<std::string_view, 31> kFacts{"type",
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
                                                  "contains",
                                                  kSomeItem,
                                                  kNotMultiple,
                                                  kNotPattern,
                                                  kNotValues,
                                                  kNotTypes};

bool has_facts(Node schema) {
  for (const auto& [name, value] : schema->items())
    if (is_fact(name)) return true;
  return false;
}

}  // namespace

bool is_fact(std::string_view keyword) {
  return std::ranges::find(kFacts, keyword) != kFacts.end();
}

const std::vector<Parts>& SchemaCases::of(const Parts& schemas) {
  auto& memo = is_loose() ? loose_cases_ : cases_;
  if (const auto known = memo.find(schemas); known != memo.end()) return known->second;
  Open open;
  for (const Node schema : schemas) add(&open, schema);
  Found found;
  expand(&open, 0, &found);
  // The cases are incomplete after a refusal, which may be forgiven.
  if (document_.has_failed()) return no_cases_;
  if (found.list.empty()) nevers_[schemas] = found.never;
  return memo[schemas] = std::move(found.list);
}

Node SchemaCases::never_of(const Parts& schemas) {
  const auto known = nevers_.find(schemas);
  return known == nevers_.end() ? nullptr : known->second;
}

std::shared_ptr<const SchemaFacts> SchemaCases::facts_of(const Parts& parts) {
  if (const auto known = facts_.find(parts); known != facts_.end()) return known->second;
  auto facts = std::make_shared<const SchemaFacts>(parts, &document_);
  if (!document_.has_failed()) facts_.emplace(parts, facts);
  return facts;
}

void SchemaCases::Open::go_back(const Mark& to) {
  parts.resize(to.n_parts);
  seen.resize(to.n_seen);
  choices.resize(to.n_choices);
  never = to.never;
}

void SchemaCases::add(Open* open, Node schema, size_t from) {
  std::vector<Open::Seen> todo{{schema, from}};
  while (!todo.empty() && !document_.has_failed()) {
    const Node at = todo.back().schema;
    const size_t met_by = todo.back().from;
    todo.pop_back();
    document_.check(at);
    document_.work(1 + open->seen.size() / 64 + at->size() / 16);
    if (document_.has_failed()) return;
    if (at->is_boolean()) {
      if (is_false(at) && open->never == nullptr) open->never = at;
      continue;
    }
    const bool is_known = std::any_of(open->seen.begin(), open->seen.end(),
                                      [&](const Open::Seen& one) { return one.schema == at; });
    if (is_known) {
      // A known schema holds already, unless a chain of '$ref' leads from it back to itself.
      for (size_t i = met_by; i != SIZE_MAX; i = open->seen[i].from)
        if (open->seen[i].schema == at)
          return document_.refuse(
              at, "a '$ref' that leads back to its own schema with no property or item in between");
      continue;
    }
    const size_t place = open->seen.size();
    open->seen.push_back({at, met_by});
    std::vector<Open::Seen> next;
    if (const Node reference = SchemaDocument::find(at, "$ref")) {
      const Node target = document_.target_of(at, *reference);
      if (target == nullptr) return;
      next.push_back({target, place});
      if (document_.is_draft_7()) {
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
      document_.work(list->size() / 16);
      for (const Json& one : *list) choice.branches.push_back(&one);
      if (name == std::string_view("oneOf") && list->size() > 1) choice.one_of = at;
      open->choices.push_back(std::move(choice));
    }
  if (const Node inside = SchemaDocument::find(at, "not")) {
    Choice choice{negated(inside), open->seen.size() - 1};
    if (document_.has_failed() && is_loose())
      document_.forgive();  // all the more values
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
      for (const auto& [property, needed] : needs->items()) {
        document_.work();
        open->choices.push_back({dependency_branches(at, property, needed), open->seen.size() - 1});
      }
}

// Either the property is absent, or the schema that it needs holds.
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

void SchemaCases::keep_case(const Parts& parts, Found* out) {
  document_.work(parts.size() / 16);
  if (!out->known.insert(parts).second) return;
  out->list.push_back(parts);
  if (out->list.size() > kMostCases)
    document_.exceed(nullptr,
                     "too complex: anyOf, oneOf and similar keywords make more than {} "
                     "combinations at one place",
                     kMostCases);
}

void SchemaCases::expand(Open* open, size_t next, Found* out) {
  document_.work();
  if (out->never == nullptr) out->never = open->never;
  if (open->never != nullptr || document_.has_failed()) return;
  if (next == open->choices.size()) return keep_case(open->parts, out);
  if (next >= kMostChoices)
    return document_.exceed(nullptr,
                            "too complex: more than {} anyOf, oneOf and similar keywords apply at "
                            "one place",
                            kMostChoices);
  const Choice choice = open->choices[next];
  if (choice.branches.empty() && out->never == nullptr)
    out->never = SchemaDocument::find(open->seen[choice.met_at].schema, "not");
  if (choice.one_of != nullptr && !is_loose()) return expand_one_of(open, next, choice, out);
  const Open::Mark mark = open->mark();
  for (const Node branch : choice.branches) {
    add(open, branch, choice.met_at);
    expand(open, next + 1, out);
    open->go_back(mark);
  }
}

void SchemaCases::expand_one_of(Open* open, size_t next, const Choice& choice, Found* out) {
  const size_t n = choice.branches.size();
  const Open::Mark mark = open->mark();
  std::vector<std::vector<Parts>> cases(n);
  for (size_t i = 0; i < n; ++i) {
    Found found;
    add(open, choice.branches[i], choice.met_at);
    expand(open, next + 1, &found);
    open->go_back(mark);
    if (out->never == nullptr) out->never = found.never;
    cases[i] = std::move(found.list);
  }
  if (document_.has_failed()) return;
  const auto meet = [&](size_t i, size_t j) {
    for (const Parts& a : cases[i])
      for (const Parts& b : cases[j]) {
        Parts both = a;
        document_.work(b.size() * a.size() / 256);
        for (const Node part : b)
          if (std::find(a.begin(), a.end(), part) == a.end()) both.push_back(part);
        if (!is_surely_empty(both)) return true;
      }
    return false;
  };
  std::vector<std::vector<bool>> meets(n, std::vector<bool>(n, false));
  for (size_t i = 0; i < n; ++i)
    for (size_t j = i + 1; j < n && !document_.has_failed(); ++j)
      meets[i][j] = meets[j][i] = meet(i, j);
  for (size_t i = 0; i < n && !document_.has_failed(); ++i) {
    add(open, choice.branches[i], choice.met_at);
    bool is_changed = false;
    for (size_t j = 0; j < n && !document_.has_failed(); ++j) {
      if (!meets[i][j]) continue;
      is_changed = true;
      add(open, document_.made(choice.branches[j], "not", [&] {
        return Json{{"not", *choice.branches[j]}};
      }));
    }
    if (document_.has_failed()) {
      document_.forgive();
      open->go_back(mark);
      return document_.refuse(choice.one_of, "a 'oneOf' whose branches may overlap");
    }
    if (is_changed)
      expand(open, next + 1, out);
    else
      for (const Parts& parts : cases[i]) keep_case(parts, out);
    open->go_back(mark);
  }
}

bool SchemaCases::is_surely_empty(const Parts& parts) {
  ++looseness_;
  const bool is_empty = grammar::is_surely_empty(parts, this, &document_, 0);
  --looseness_;
  return is_empty;
}

}  // namespace pando::grammar
