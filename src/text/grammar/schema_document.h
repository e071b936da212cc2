// A JSON Schema as it is written: its nodes, references and names for messages.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "pando/values/json_value.h"
#include "text/grammar/char_dfa.h"
#include "text/grammar/char_lengths.h"
#include "text/grammar/schema_keywords.h"

namespace pando::grammar {

using Node = const Json*;  // a schema: true, false or an object

inline bool is_false(Node schema) { return schema->is_boolean() && !schema->get<bool>(); }

// The document stays where it is; one thread. The first refusal is kept, and ends all that is done.
class SchemaDocument {
 public:
  static Result<std::unique_ptr<SchemaDocument>> parse(std::string_view text);
  static Result<std::unique_ptr<SchemaDocument>> of(const JsonValue& schema);

  Node root() const { return &root_; }
  // A schema that is not in the document, made from `of`. `key` names it, so that it is made once.
  Node made(Node of, const std::string& key, const std::function<Json()>& make);
  Node always() const { return &always_; }
  Node never() const { return &never_; }

  // A member of a schema, or null.
  static Node find(Node schema, std::string_view name);
  Node target_of(Node schema, const Json& reference);  // of "$ref"; null if it is refused
  // Before draft 2019-09 "$ref" hides what stands beside it, and there is no "minContains".
  bool is_draft_7() const { return is_draft_7_; }
  // Refuses the schema where it has a keyword that is not kept, or one that is malformed.
  void check(Node schema);

  // The texts that a pattern matches somewhere; null if it is refused, for which `schema` is to
  // blame.
  const CharDfa* matches_of(const std::string& pattern, Node schema);
  // The counted set of a pattern such as "^[a-z]{1,9}$"; null for other patterns.
  const CountedSet* counted_set_of(const std::string& pattern);
  // The texts of a known format. Null after a refusal.
  const CharDfa* format_of(const std::string& name, Node schema);
  // Tells what the checked schemas have and Pando does not enforce: unknown formats, and names that
  // are nearly keywords. At most eight, each once.
  std::vector<std::string> warnings();
  // CharDfa::of and both, whose steps count.
  Result<CharDfa> automaton_of(const Regex& regex, bool is_search = false);
  Result<CharDfa> both(const CharDfa& a, const CharDfa& b);
  // The lengths of the texts of `dfa` within the bounds of `schema`. Nothing after a refusal.
  std::optional<CharLengths> lengths_of(const CharDfa& dfa, Lengths bounds, Node schema);

  // "schema at '#/a': ...": a keyword or what else "is not supported".
  template <class... Args>
  void refuse(Node schema, fmt::format_string<Args...> text, Args&&... args) {
    if (!failure_)
      failure_ = {ErrorCode::kUnsupported, schema,
                  fmt::format(text, std::forward<Args>(args)...) + " is not supported"};
  }
  // Refuses a schema that is too large or too complex.
  template <class... Args>
  void exceed(Node schema, fmt::format_string<Args...> text, Args&&... args) {
    if (!failure_)
      failure_ = {ErrorCode::kUnsupported, schema, fmt::format(text, std::forward<Args>(args)...)};
  }
  // Refuses a malformed schema.
  template <class... Args>
  void fault(Node schema, fmt::format_string<Args...> text, Args&&... args) {
    if (!failure_)
      failure_ = {ErrorCode::kInvalidArgument, schema,
                  fmt::format(text, std::forward<Args>(args)...)};
  }
  // Counts steps of some microseconds; a schema may take kMostSchemaWork.
  void work(size_t n = 1);
  size_t work_left() const { return work_left_; }
  bool has_failed() const { return failure_.has_value(); }
  Error error() const;
  // Forgets a refusal of something that was only tried; not that the steps are used up.
  void forgive();

  // The JSON pointer of a value, "#/properties/a/minimum"; "#": the whole document. Nothing for a
  // value that the document does not contain, and after a refusal. This and told() search the
  // document, which counts as work.
  std::optional<std::string> pointer_of(const Json* value);
  // For messages: "'#/properties/a/minimum' is 3". A value that the document does not contain is
  // named by the schema that it was made from: "'#/not' sets another condition".
  std::string told(const Json* value);

 private:
  SchemaDocument() = default;
  static Result<std::unique_ptr<SchemaDocument>> of(Json root);
  struct Failure {
    ErrorCode code;
    Node at;  // null: the whole schema
    std::string what;
  };
  void index(Node schema);
  void keep_unknown(const std::string& name, const Json& value);
  Node target_at(Node schema, std::string_view to);
  std::string place_of(Node schema) const;

  Json root_;
  Json always_ = true;
  Json never_ = false;
  bool is_draft_4_ = false, is_draft_7_ = false;  // or before
  std::string root_id_;
  bool has_inner_ids_ = false;
  std::unordered_map<std::string, Node> anchors_;
  std::unordered_set<Node> checked_;
  std::map<std::pair<Node, std::string>, Node> made_;
  std::deque<Json> made_nodes_;
  size_t n_written_values_ = 0, n_made_values_ = 0;  // in trees; 0: not counted yet
  std::map<std::string, CharDfa> patterns_, formats_;
  std::map<std::string, std::optional<CountedSet>> counted_sets_;  // by pattern
  std::vector<std::pair<std::string, const Json*>> unknown_;       // the first few, for warnings
  std::optional<Failure> failure_;
  size_t work_left_ = 0;
};

}  // namespace pando::grammar
