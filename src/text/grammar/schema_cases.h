// Expands "$ref", "allOf", "anyOf", "oneOf", "not", "if" and dependencies of a schema into cases: a
// value is valid if it is valid under all parts of one case.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "text/grammar/schema_document.h"

namespace pando::grammar {

// Schemas that all hold, in the order in which they were met. Only keywords about the value itself
// count (SchemaFacts reads them).
using Parts = std::vector<Node>;

// A keyword about the value itself, rather than about other schemas that hold for it.
bool is_fact(std::string_view keyword);

struct SchemaFacts;

class SchemaCases {
 public:
  explicit SchemaCases(SchemaDocument* document) : document_(*document) {}

  // The cases under which all of `schemas` hold. Refusals are in the document.
  const std::vector<Parts>& of(const Parts& schemas);
  // For schemas without cases: the first "false", or "not" of everything, that leaves them none.
  Node never_of(const Parts& schemas);
  // Facts of a case; kept for all values that are compared with it.
  std::shared_ptr<const SchemaFacts> facts_of(const Parts& parts);
  // True during a proof that stays right if it assumes too many values: "oneOf" is read as "anyOf"
  // then, and a "not" that cannot be kept is ignored.
  bool is_loose() const { return looseness_ > 0; }

 private:
  struct Choice {
    Parts branches;
    size_t met_at = 0;      // in `seen`: the schema whose choice it is
    Node one_of = nullptr;  // the schema whose "oneOf" it is: exactly one branch holds
  };
  struct Open {
    struct Seen {
      Node schema;
      size_t from;  // in `seen`: by which it was met; itself: the first
    };
    Parts parts;
    std::vector<Seen> seen;
    std::vector<Choice> choices;
    Node never = nullptr;  // a schema that leaves no value

    // Sizes to go back to.
    struct Mark {
      size_t n_parts, n_seen, n_choices;
      Node never;
    };
    Mark mark() const { return {parts.size(), seen.size(), choices.size(), never}; }
    void go_back(const Mark& to);
  };
  // The cases that are found, each once.
  struct Found {
    std::vector<Parts> list;
    std::set<Parts> known;
    Node never = nullptr;  // the first that ended a case
  };
  // Adds a schema that another one, `from` of `seen`, leads to.
  void add(Open* open, Node schema, size_t from = SIZE_MAX);
  void add_choices(Open* open, Node at);
  bool is_surely_empty(const Parts& parts);
  // Decides the choices from `next` on, each in all ways. `open` is as before.
  void expand(Open* open, size_t next, Found* out);
  void expand_one_of(Open* open, size_t next, const Choice& choice, Found* out);
  void keep_case(const Parts& parts, Found* out);
  Parts dependency_branches(Node schema, const std::string& name, const Json& needed);
  // Schemas, one of which holds exactly where `schema` does not; empty after a refusal.
  Parts negated(Node schema);
  Parts negated_keyword(Node schema, const std::string& name, const Json& value);

  SchemaDocument& document_;
  std::map<Parts, std::vector<Parts>> cases_, loose_cases_;
  std::map<Parts, Node> nevers_;
  const std::vector<Parts> no_cases_;
  std::map<Parts, std::shared_ptr<const SchemaFacts>> facts_;
  size_t looseness_ = 0;
  size_t depth_ = 0;  // of negations
};

// Keywords of schemas that negation makes. No schema that is written has them.
inline constexpr std::string_view kNotPattern = "\x01not pattern";    // a text does not match
inline constexpr std::string_view kNotValues = "\x01not values";      // none of these
inline constexpr std::string_view kNotMultiple = "\x01not multiple";  // as "multipleOf"
inline constexpr std::string_view kSomeItem = "\x01some item";        // as "contains"
inline constexpr std::string_view kNotTypes = "\x01not types";        // as "type"

}  // namespace pando::grammar
