// The place of a schema that leaves no value.
#pragma once

#include <unordered_map>

#include "text/grammar/schema_document.h"

namespace pando::grammar {

inline bool is_false(Node schema) { return schema->is_boolean() && !schema->get<bool>(); }

// Finds the "false" of a schema, or its "not" of everything. Looks at each schema once.
class NeverSearch {
 public:
  explicit NeverSearch(SchemaDocument* document) : document_(*document) {}
  // Null: there is none, or the document has failed.
  Node find(Node schema);

 private:
  Node find_in(Node schema);

  SchemaDocument& document_;
  std::unordered_map<Node, Node> found_;  // null: nothing was found
  size_t depth_ = 0;
};

}  // namespace pando::grammar
