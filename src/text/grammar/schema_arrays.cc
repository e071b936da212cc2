// Arrays of a schema.
#include <algorithm>

#include "text/grammar/schema_compiler.h"

namespace pando::grammar {

namespace {

constexpr size_t kMostCountedItems = 20'000;

}  // namespace

void SchemaCompiler::add_arrays(const SchemaFacts& facts, State from, State to) {
  const size_t n_prefix = n_prefix_items(facts.parts);
  size_t most = facts.max_items;
  for (size_t i = 0; i <= n_prefix && i < most; ++i)
    if (is_never(item_of(facts.parts, i))) most = i;
  if (document_.has_failed() || facts.min_items > most) return;
  if (facts.has_unique_items && most > 1)
    return document_.refuse(facts.parts[0], "'uniqueItems' of more than one item");
  // Behind so many items all are alike.
  const size_t n_counted = std::max(facts.min_items, most == SIZE_MAX ? n_prefix : most);
  if (n_counted > kMostCountedItems)
    return document_.refuse(facts.parts[0], "a bound of the number of items above {}",
                            kMostCountedItems);
  document_.work(n_counted / 16);
  const State open = builder_.text(from, "[");
  State item = builder_.state();
  if (facts.min_items == 0) builder_.bytes(open, ']', ']', to);
  builder_.empty(open, item);
  for (size_t i = 0; i < most; ++i) {
    const State after = builder_.state();
    builder_.call(item, rule_of(item_of(facts.parts, i)), after);
    if (i + 1 >= facts.min_items) builder_.bytes(after, ']', ']', to);
    if (most == SIZE_MAX && i >= n_counted) {
      builder_.bytes(after, ',', ',', item);
      break;
    }
    if (i + 1 < most) {
      item = builder_.state();
      builder_.bytes(after, ',', ',', item);
    }
  }
}

}  // namespace pando::grammar
