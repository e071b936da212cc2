// Schemas of properties and items, from all parts of a case.
#include <algorithm>

#include "text/grammar/schema_facts.h"

namespace pando::grammar {

namespace {

void add_once(Parts* all, Node schema) {
  if (std::find(all->begin(), all->end(), schema) == all->end()) all->push_back(schema);
}

}  // namespace

Parts property_of(const Parts& parts, const std::string& name, SchemaDocument* document) {
  Parts all;
  for (const Node part : parts) {
    bool is_known = false;
    document->work(part->size() / 64);
    if (const Node properties = SchemaDocument::find(part, "properties")) {
      document->work(properties->size() / 256);  // they are looked through
      if (const Node inside = SchemaDocument::find(properties, name)) {
        add_once(&all, inside);
        is_known = true;
      }
    }
    if (const Node patterns = SchemaDocument::find(part, "patternProperties"))
      for (const auto& [pattern, inside] : patterns->items()) {
        const CharDfa* matches = document->matches_of(pattern, part);
        if (matches == nullptr) return {};
        document->work(matches->n_steps_of(name) / 512);
        if (!matches->matches(name)) continue;
        add_once(&all, &inside);
        is_known = true;
      }
    if (const Node more = SchemaDocument::find(part, "additionalProperties");
        more != nullptr && !is_known)
      add_once(&all, more);
  }
  return all;
}

Node prefix_items_of(Node schema) {
  if (const Node prefix = SchemaDocument::find(schema, "prefixItems")) return prefix;
  const Node items = SchemaDocument::find(schema, "items");
  return items != nullptr && items->is_array() ? items : nullptr;
}

Node rest_items_of(Node schema) {
  const Node items = SchemaDocument::find(schema, "items");
  if (items == nullptr) return nullptr;  // "additionalItems" alone says nothing
  return items->is_array() ? SchemaDocument::find(schema, "additionalItems") : items;
}

Parts item_of(const Parts& parts, size_t index) {
  Parts all;
  for (const Node part : parts) {
    const Node prefix = prefix_items_of(part);
    if (prefix != nullptr && index < prefix->size())
      add_once(&all, &(*prefix)[index]);
    else if (const Node rest = rest_items_of(part))
      add_once(&all, rest);
  }
  return all;
}

size_t n_prefix_items(const Parts& parts) {
  size_t n = 0;
  for (const Node part : parts)
    if (const Node prefix = prefix_items_of(part)) n = std::max(n, prefix->size());
  return n;
}

}  // namespace pando::grammar
