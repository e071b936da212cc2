#include "text/grammar/schema_never.h"

#include "text/grammar/limits.h"

namespace pando::grammar {

Node NeverSearch::find(Node schema) {
  if (is_false(schema)) return schema;
  document_.work(1 + (schema->is_object() ? schema->size() / 16 : 0));
  if (!schema->is_object() || depth_ > kMostNesting || document_.has_failed()) return nullptr;
  const auto known = found_.find(schema);
  if (known != found_.end()) return known->second;
  found_[schema] = nullptr;  // as long as it is searched
  ++depth_;
  const Node found = find_in(schema);
  --depth_;
  return found_[schema] = found;
}

Node NeverSearch::find_in(Node schema) {
  if (const Node reference = SchemaDocument::find(schema, "$ref")) {
    const Node target = document_.target_of(schema, *reference);
    const Node found = target != nullptr ? find(target) : nullptr;
    if (found != nullptr || document_.is_draft_7()) return found;
  }
  if (const Node all = SchemaDocument::find(schema, "allOf"))
    for (const Json& one : *all)
      if (const Node found = find(&one)) return found;
  for (const char* name : {"anyOf", "oneOf"})
    if (const Node list = SchemaDocument::find(schema, name)) {
      Node first = nullptr;
      bool are_all = true;
      for (const Json& one : *list) {
        const Node found = find(&one);
        if (first == nullptr) first = found;
        are_all = are_all && found != nullptr;
        if (!are_all) break;
      }
      if (are_all) return first;
    }
  const Node inside = SchemaDocument::find(schema, "not");
  const bool is_of_all =
      inside != nullptr && (*inside == Json(true) || (inside->is_object() && inside->empty()));
  return is_of_all ? inside : nullptr;
}

}  // namespace pando::grammar
