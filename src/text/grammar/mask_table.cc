#include "text/grammar/mask_table.h"

namespace pando::grammar {

namespace {

constexpr size_t kMostCachedBytes = 64u << 20;
constexpr size_t kFewNodes = 600;  // of the trie: walked again rather than kept

void set_bits(std::span<const Token> tokens, std::span<uint64_t> bits) {
  for (const Token token : tokens)
    bits[static_cast<size_t>(token) / 64] |= uint64_t{1} << (static_cast<size_t>(token) % 64);
}

// Walks all of a trie from a frontier and sets the bits of the tokens that the grammar reads to
// their end. `at_end(node)` is called where the bottom of the chart's stack is reached. Returns the
// number of nodes that it looked at.
template <class AtEnd>
size_t walk(Chart& chart, const Chart::Frontier& start, const ByteTrie& trie,
            std::span<uint64_t> bits, const AtEnd& at_end) {
  const Grammar& grammar = chart.grammar();
  // Behind the byte of each node of the path, the first: before all.
  std::vector<Chart::Frontier> path(size_t{trie.max_depth()} + 2);
  path[0] = start;
  size_t n_nodes = 0;
  for (uint32_t at = 0; at < trie.size() && !chart.is_overflown();) {
    const ByteTrie::Node& node = trie[at];
    const Chart::Frontier& from = path[node.depth];
    ++n_nodes;
    chart.go_back(from);
    if (from.end - from.begin == 1) {
      const Chart::Config config = chart.config(from.begin);
      const uint32_t to = grammar.next(config.state, node.byte);
      if (to == Grammar::kNone) {
        at = node.skip;
        continue;
      }
      if (to == config.state && grammar.is_plain(to) && (node.kinds & ~grammar.loops(to)) == 0) {
        set_bits(trie.tokens_below(at), bits);
        at = node.skip;
        continue;
      }
      if (grammar.is_plain(to)) {
        path[node.depth + 1] = chart.push({to, config.node});
        set_bits(trie.tokens_at(at), bits);
        ++at;
        continue;
      }
    }
    const Chart::Frontier behind = chart.step(from, node.byte);
    if (!behind.is_alive()) {
      at = node.skip;
      continue;
    }
    set_bits(trie.tokens_at(at), bits);
    if (behind.is_end) at_end(at);
    path[node.depth + 1] = behind;
    at = behind.has_configs() ? at + 1 : node.skip;
  }
  chart.go_back(start);
  return n_nodes;
}

}  // namespace

MaskTable::MaskTable(GrammarPtr grammar, VocabularyPtr vocabulary)
    : grammar_(std::move(grammar)), vocabulary_(std::move(vocabulary)) {}

void MaskTable::add_tokens(Chart& chart, const Chart::Frontier& at, std::span<uint64_t> bits) {
  const auto nothing = [](uint32_t) {};
  for (uint32_t i = at.begin; i < at.end; ++i) {
    const Chart::Config config = chart.config(i);
    const auto of = of_state(config.state);
    if (of->is_walked) {
      walk(chart, chart.one_of(at, i), vocabulary_->trie(), bits, nothing);
    } else {
      for (size_t word = 0; word < bits.size(); ++word) bits[word] |= of->bits[word];
      if (of->rests.size() > 0) walk(chart, chart.behind(config.node), of->rests, bits, nothing);
    }
    chart.go_back(at);
  }
}

std::shared_ptr<const MaskTable::OfState> MaskTable::of_state(uint32_t state) {
  const std::lock_guard lock(mutex_);
  auto& of = of_states_[state];
  if (of == nullptr) of = make(state);
  return of;
}

std::shared_ptr<const MaskTable::OfState> MaskTable::make(uint32_t state) {
  auto of = std::make_shared<OfState>();
  const ByteTrie& trie = vocabulary_->trie();
  if (n_bytes_ > kMostCachedBytes) {
    of->is_walked = true;
    return of;
  }
  of->bits.resize(vocabulary_->n_mask_words());
  std::vector<uint32_t> ends;
  Chart chart(grammar_);
  const size_t n_nodes = walk(chart, chart.at_state(state), trie, of->bits,
                              [&](uint32_t node) { ends.push_back(node); });
  of->is_walked = n_nodes < kFewNodes || chart.is_overflown();
  if (of->is_walked) {
    of->bits = {};
    return of;
  }
  std::vector<ByteTrie::Entry> rests;
  for (const uint32_t node : ends)
    for (const Token token : trie.tokens_below(node)) {
      const std::string_view bytes = vocabulary_->bytes(token);
      const size_t behind = size_t{trie[node].depth} + 1;
      const bool is_set = of->bits[static_cast<size_t>(token) / 64] >> (token % 64) & 1;
      if (bytes.size() > behind && !is_set) rests.push_back({bytes.substr(behind), token});
    }
  n_bytes_ += of->bits.size() * 8 + rests.size() * 16;
  of->rests = ByteTrie(std::move(rests));
  return of;
}

}  // namespace pando::grammar
