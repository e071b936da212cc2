#include "text/grammar/schema_left_out.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_set>

#include "base/errors.h"
#include "text/grammar/limits.h"
#include "text/grammar/schema_conflict.h"
#include "text/grammar/schema_never.h"

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

 private:
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

  // Whether a schema is written for one property, and not for all properties of a pattern.
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

std::string left_out_warning(const std::vector<ValuePlace>& places, SchemaCases* cases,
                             SchemaDocument* document,
                             const std::function<bool(const Parts&)>& has_no_text) {
  if (places.size() > kMostValuePlaces) return {};
  const std::vector<LeftOut> found = LeftOutSearch(places, cases, document, has_no_text).find();
  return found.empty() ? std::string() : one_line(left_out_text(found));
}

}  // namespace pando::grammar
