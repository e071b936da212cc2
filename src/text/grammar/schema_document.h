// A JSON Schema as it is written: its nodes, references and names for messages.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "text/grammar/char_dfa.h"

namespace pando::grammar {

using Json = nlohmann::ordered_json;
using Node = const Json*;  // a schema: true, false or an object

// The document stays where it is; one thread. The first refusal is kept, and ends all that is done.
class SchemaDocument {
 public:
  static Result<std::unique_ptr<SchemaDocument>> parse(std::string_view text);

  Node root() const { return &root_; }
  // A schema that is written nowhere: `key` and `of` say what it was made from, so that it is made
  // once.
  Node made(Node of, const std::string& key, const std::function<Json()>& make);
  Node always() const { return &always_; }
  Node never() const { return &never_; }

  // A member of a schema, or null.
  static Node find(Node schema, std::string_view name);
  Node target_of(Node schema, const Json& reference);  // of "$ref"; null where it is refused
  // Before draft 2019-09 "$ref" hides what stands beside it.
  bool ref_hides_siblings() const { return ref_hides_siblings_; }
  // Refuses the schema where it has a keyword that is not kept, or one that is malformed.
  void check(Node schema);

  // The texts that a pattern matches somewhere; null where it is refused, for which `schema` is to
  // blame.
  const CharDfa* matches_of(const std::string& pattern, Node schema);

  template <class... Args>
  void refuse(Node schema, fmt::format_string<Args...> text, Args&&... args) {
    if (!error_)
      error_ = unsupported("schema{} has {}, which is not offered", place_of(schema),
                           fmt::format(text, std::forward<Args>(args)...));
  }
  template <class... Args>
  void fault(Node schema, fmt::format_string<Args...> text, Args&&... args) {
    if (!error_)
      error_ = invalid_argument("schema{} has {}", place_of(schema),
                                fmt::format(text, std::forward<Args>(args)...));
  }
  void keep(Error error) {
    if (!error_) error_ = std::move(error);
  }
  // Counts work that a schema may ask for without end.
  void work(size_t n = 1);
  bool has_failed() const { return error_.has_value(); }
  Error error() const { return *error_; }
  // Forgets a refusal of something that was only tried.
  void forget_error() { error_.reset(); }
  size_t work_left() const { return work_left_; }

 private:
  SchemaDocument() = default;
  void index(Node schema);
  std::string place_of(Node schema) const;

  Json root_;
  Json always_ = true;
  Json never_ = false;
  bool ref_hides_siblings_ = false;
  std::string root_id_;
  bool has_inner_ids_ = false;
  std::unordered_map<std::string, Node> anchors_;
  std::unordered_set<Node> checked_;
  std::map<std::pair<Node, std::string>, Node> made_;
  std::deque<Json> made_nodes_;
  std::map<std::string, CharDfa> patterns_;
  std::optional<Error> error_;
  size_t work_left_ = 0;
};

}  // namespace pando::grammar
