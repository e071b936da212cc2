#include "text/grammar/schema_left_out.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_set>

#include "base/errors.h"
#include "text/grammar/limits.h"
#include "text/grammar/schema_conflict.h"
#include "text/grammar/schema_never.h"
#include "text/grammar/schema_proofs.h"

namespace pando::grammar {

namespace {

constexpr size_t kMostSearched = 64;  // places, each with a search of the document
constexpr size_t kMostShown = 3;

struct LeftOut {
  std::string pointer;  // "#/properties/age"
  std::string reason;   // empty if it is not known
};

class LeftOutSearch {
 public:
  LeftOutSearch(const std::vector<ValuePlace>& places, SchemaCases* cases, SchemaDocument* document,
                const std::function<bool(const Parts&)>& has_no_text)
      : places_(places),
        cases_(*cases),
        document_(*document),
        has_no_text_(has_no_text),
        never_(document) {}

  std::vector<LeftOut> find() {
    std::vector<const ValuePlace*> unfit;
    for (const ValuePlace& place : places_) {
      if (place.is_name_allowed && !has_no_text_(place.schemas))
        fitting_.insert(place.schemas.begin(), place.schemas.end());
      else if (!place.is_needed)
        unfit.push_back(&place);
    }
    std::vector<LeftOut> found;
    std::unordered_set<std::string> known;
    for (size_t i = 0; i < std::min(unfit.size(), kMostSearched); ++i) {
      if (document_.has_failed() || found.size() > kMostShown) break;
      const auto pointer = pointer_of(*unfit[i]);
      if (pointer && known.insert(*pointer).second)
        found.push_back({*pointer, reason_of(*unfit[i])});
    }
    return found;
  }

  void add_alternatives(const std::vector<Parts>& lists, std::vector<LeftOut>* found) {
    std::unordered_set<Node> known;
    size_t n_left = kMostSearched;
    for (const Parts& schemas : lists) {
      std::vector<Node> todo(schemas.rbegin(), schemas.rend());
      while (!todo.empty() && n_left > 0 && found->size() <= kMostShown) {
        const Node at = todo.back();
        todo.pop_back();
        if (at->is_boolean() || !known.insert(at).second) continue;
        document_.work(1 + at->size() / 16);
        if (document_.has_failed()) return;
        add_alternatives_of(at, &n_left, found);
        if (const Node reference = SchemaDocument::find(at, "$ref"))
          if (const Node target = document_.target_of(at, *reference)) todo.push_back(target);
        for (const char* name : {"allOf", "anyOf", "oneOf"})
          if (const Node inside = SchemaDocument::find(at, name))
            for (const Json& one : *inside) todo.push_back(&one);
      }
    }
  }

 private:
  // Adds none if no value fits any alternative.
  void add_alternatives_of(Node at, size_t* n_left, std::vector<LeftOut>* found) {
    for (const char* name : {"anyOf", "oneOf"}) {
      const Node list = SchemaDocument::find(at, name);
      if (list == nullptr || list->size() > *n_left) continue;
      *n_left -= list->size();
      std::vector<Node> empty;
      for (const Json& one : *list)
        if (are_surely_empty({at, &one})) empty.push_back(&one);
      if (empty.size() == list->size()) continue;
      for (const Node one : empty) {
        if (never_.find(one) != nullptr || found->size() > kMostShown) continue;
        if (const auto pointer = document_.pointer_of(one))
          found->push_back({*pointer, reason_of_alternative(at, one)});
      }
    }
  }

  // The case of the alternative alone has the fewest parts: each other case also has the parts of
  // another alternative.
  std::string reason_of_alternative(Node at, Node alternative) {
    const std::vector<Parts> cases = cases_.of({at, alternative});
    if (cases.empty()) return conflict_of({at, alternative}, &cases_, &document_, has_no_text_);
    const Parts& own = *std::ranges::min_element(cases, {}, &Parts::size);
    return conflict_of_case(own, &cases_, &document_, has_no_text_);
  }

  // True if it is proved that no value fits schemas that apply together.
  bool are_surely_empty(const Parts& schemas) {
    if (document_.has_failed()) return false;
    const std::vector<Parts> cases = cases_.of(schemas);
    if (document_.has_failed()) {
      document_.forgive();  // an unsupported schema is not proved to be empty
      return false;
    }
    return std::ranges::all_of(
        cases, [&](const Parts& parts) { return is_surely_empty(parts, &cases_, &document_, 0); });
  }

  // Points to the schema that is written for the place. Nothing if there is none, if it excludes
  // all values on purpose, or if some value fits another place with the same schema.
  std::optional<std::string> pointer_of(const ValuePlace& place) {
    std::optional<std::string> first;
    for (const Node schema : place.schemas) {
      std::optional<std::string> pointer = document_.pointer_of(schema);
      if (!pointer) return std::nullopt;
      if (!is_own(place, *pointer)) continue;
      if (fitting_.contains(schema) || never_.find(schema) != nullptr) return std::nullopt;
      if (!first) first = std::move(pointer);
    }
    return first;
  }

  // True if the schema is written for this one property, not for all properties of a pattern.
  static bool is_own(const ValuePlace& place, const std::string& pointer) {
    if (!place.property) return true;
    const Json::json_pointer path(pointer.substr(1));
    return !path.empty() && path.back() == *place.property && !path.parent_pointer().empty() &&
           path.parent_pointer().back() == "properties";
  }

  std::string reason_of(const ValuePlace& place) {
    if (!place.is_name_allowed) return "its name is not valid under 'propertyNames'";
    return conflict_of(place.schemas, &cases_, &document_, has_no_text_);
  }

  const std::vector<ValuePlace>& places_;
  SchemaCases& cases_;
  SchemaDocument& document_;
  const std::function<bool(const Parts&)>& has_no_text_;
  NeverSearch never_;
  std::unordered_set<Node> fitting_;  // the schemas of all places that some value fits
};

std::string left_out_text(std::vector<LeftOut> found) {
  if (found.size() == 1)
    return fmt::format("no value fits '{}', so every answer leaves it out{}{}", found[0].pointer,
                       found[0].reason.empty() ? "" : ": ", found[0].reason);
  const bool has_more = found.size() > kMostShown;
  found.resize(std::min(found.size(), kMostShown));
  std::vector<std::string> all;
  for (const LeftOut& one : found)
    all.push_back(one.reason.empty() ? fmt::format("'{}'", one.pointer)
                                     : fmt::format("'{}' ({})", one.pointer, one.reason));
  return fmt::format("no value fits these parts, so every answer leaves them out: {}{}",
                     fmt::join(all, ", "), has_more ? " and others" : "");
}

}  // namespace

std::string left_out_warning(const std::vector<ValuePlace>& places, const std::vector<Parts>& lists,
                             SchemaCases* cases, SchemaDocument* document,
                             const std::function<bool(const Parts&)>& has_no_text) {
  if (places.size() > kMostValuePlaces) return {};
  LeftOutSearch search(places, cases, document, has_no_text);
  std::vector<LeftOut> found = search.find();
  search.add_alternatives(lists, &found);
  return found.empty() ? std::string() : one_line(left_out_text(found));
}

}  // namespace pando::grammar
