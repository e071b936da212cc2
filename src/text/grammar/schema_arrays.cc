// Arrays of a schema.
#include <algorithm>

#include "text/grammar/schema_compiler.h"

namespace pando::grammar {

namespace {

constexpr size_t kMostCountedItems = 20'000;
constexpr size_t kMostContained = 3;  // "contains" that hold together

}  // namespace

// The automaton of one array. A place is the number of items that were written, up to that from
// which on all are alike, and how many of them each "contains" has counted. An item may count or
// not where it could: some way counts all.
class ArrayRule {
 public:
  ArrayRule(SchemaCompiler* compiler, const SchemaFacts& facts, size_t most, size_t n_counted)
      : compiler_(*compiler),
        builder_(compiler->builder_),
        facts_(facts),
        most_(most),
        n_counted_(n_counted) {
    for (const SchemaFacts::Contained& one : facts.contained) n_tallies_ *= one.least + 1;
  }

  size_t n_places() const { return (n_counted_ + 1) * n_tallies_; }

  void add(Builder::State from, Builder::State to) {
    to_ = to;
    items_.assign(n_places(), kNoState);
    behinds_ = items_;
    const Builder::State open = builder_.text(from, "[");
    if (can_close(0, 0)) builder_.bytes(open, ']', ']', to);
    builder_.empty(open, item(0, 0));
    while (!todo_.empty() && !builder_.is_too_large()) {
      const auto [n, tally] = todo_.back();
      todo_.pop_back();
      fill_item(n, tally);
    }
  }

 private:
  static constexpr Builder::State kNoState = UINT32_MAX;

  bool can_close(size_t n, size_t tally) const {
    return n >= facts_.min_items && tally + 1 == n_tallies_;
  }
  // State at the beginning of an item, after n others.
  Builder::State item(size_t n, size_t tally) {
    Builder::State& at = items_[n * n_tallies_ + tally];
    if (at == kNoState) {
      at = builder_.state();
      todo_.emplace_back(n, tally);
    }
    return at;
  }
  Builder::State behind(size_t n, size_t tally) {
    n = std::min(n, n_counted_);
    Builder::State& at = behinds_[n * n_tallies_ + tally];
    if (at == kNoState) {
      at = builder_.state();
      if (can_close(n, tally)) builder_.bytes(at, ']', ']', to_);
      if (n < most_) builder_.separator(at, ',', item(n, tally));
    }
    return at;
  }
  void fill_item(size_t n, size_t tally) {
    if (n >= most_) return;
    const Builder::State at = items_[n * n_tallies_ + tally];
    const Parts plain = item_of(facts_.parts, n);
    for (size_t counts = 0; counts < size_t{1} << facts_.contained.size(); ++counts) {
      Parts schemas = plain;
      size_t next = tally, unit = 1, left = tally;
      bool is_needed = true;
      for (size_t i = 0; i < facts_.contained.size(); ++i) {
        const auto& [schema, least] = facts_.contained[i];
        if (counts >> i & 1) {
          is_needed = is_needed && left % (least + 1) < least;
          next += unit;
          schemas.push_back(schema);
        }
        left /= least + 1;
        unit *= least + 1;
      }
      if (!is_needed || (counts > 0 && compiler_.is_never(schemas))) continue;
      builder_.call(at, compiler_.rule_of(schemas), behind(n + 1, next));
    }
  }

  SchemaCompiler& compiler_;
  Builder& builder_;
  const SchemaFacts& facts_;
  size_t most_, n_counted_;
  size_t n_tallies_ = 1;
  Builder::State to_ = 0;
  std::vector<Builder::State> items_, behinds_;  // of a place
  std::vector<std::pair<size_t, size_t>> todo_;
};

void SchemaCompiler::add_arrays(const SchemaFacts& facts, State from, State to) {
  const size_t n_prefix = n_prefix_items(facts.parts);
  size_t most = facts.max_items;
  for (size_t i = 0; i <= n_prefix && i < most; ++i)
    if (is_never(item_of(facts.parts, i))) most = i;
  if (document_.has_failed() || facts.min_items > most) return;
  if (facts.has_unique_items && most > 1)
    return document_.refuse(facts.parts[0], "'uniqueItems' with more than one item");
  if (facts.contained.size() > kMostContained)
    return document_.refuse(facts.parts[0], "a combination of more than {} 'contains'",
                            kMostContained);
  // Items behind this number are all alike.
  const size_t n_counted = std::max(facts.min_items, most == SIZE_MAX ? n_prefix : most);
  if (n_counted > kMostCountedItems)
    return document_.refuse(facts.parts[0], "a 'minItems' or 'maxItems' above {}",
                            kMostCountedItems);
  for (const SchemaFacts::Contained& one : facts.contained)
    if (one.least > 1'000) return document_.refuse(facts.parts[0], "a 'minContains' above 1000");
  ArrayRule rule(this, facts, most, n_counted);
  if (rule.n_places() > 2 * kMostCountedItems)
    return document_.exceed(facts.parts[0],
                            "too many items to count them up to 'maxItems' and 'minContains'");
  size_t n_keywords = 0;
  for (const Node part : facts.parts) n_keywords += part->size();
  document_.work(rule.n_places() * (1 + n_keywords / 64) / 16);
  rule.add(from, to);
}

}  // namespace pando::grammar
