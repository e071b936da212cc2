#include "text/grammar/mask_table.h"

#include <algorithm>

#include "base/fault.h"

namespace pando::grammar {

namespace {

constexpr size_t kFewNodes = 600;  // of the trie: walked again rather than kept

void set_bits(std::span<const Token> tokens, std::span<uint64_t> bits) {
  for (const Token token : tokens)
    bits[static_cast<size_t>(token) / 64] |= uint64_t{1} << (static_cast<size_t>(token) % 64);
}

// The first bytes of what may stand behind a call.
std::bitset<256> bytes_behind_calls(const Grammar& grammar) {
  std::vector<bool> is_known(grammar.n_states(), false);
  std::vector<uint32_t> todo;
  const auto add = [&](uint32_t state) {
    if (is_known[state]) return;
    is_known[state] = true;
    todo.push_back(state);
  };
  for (uint32_t state = 0; state < grammar.n_states(); ++state)
    for (const Grammar::Call& call : grammar.calls(state)) add(call.target);
  std::bitset<256> bytes;
  while (!todo.empty()) {
    const uint32_t state = todo.back();
    todo.pop_back();
    for (const Grammar::Step& step : grammar.steps(state))
      for (int byte = step.first; byte <= step.last; ++byte) bytes.set(static_cast<size_t>(byte));
    for (const uint32_t jump : grammar.jumps(state)) add(jump);
    for (const Grammar::Call& call : grammar.calls(state))
      add(grammar.uncounted(grammar.start_of(call.rule)));
  }
  return bytes;
}

// Bytes that may follow a string in the JSON of grammars.
std::bitset<256> bytes_behind_strings() {
  std::bitset<256> bytes;
  for (const char c : {',', ':', ']', '}'}) bytes.set(static_cast<uint8_t>(c));
  return bytes;
}

// Walks all of a trie from a frontier and sets the bits of the tokens that the grammar reads to
// their end. `at_end(node)` is called where the bottom of the chart's stack is reached.
template <class AtEnd>
class Walk {
 public:
  Walk(Chart* chart, const ByteTrie& trie, std::span<uint64_t> bits, const AtEnd& at_end)
      : chart_(*chart),
        grammar_(chart->grammar()),
        trie_(trie),
        bits_(bits),
        at_end_(at_end),
        states_(size_t{trie.max_depth()} + 2) {}

  void run(const Chart::Frontier& start) {
    below(start, 0, trie_.size());
    chart_.go_back(start);
  }
  size_t n_nodes() const { return n_nodes_; }  // that it looked at

 private:
  // All nodes from `begin` to `end`: siblings with the nodes below them.
  void below(const Chart::Frontier& from, uint32_t begin, uint32_t end) {
    if (begin >= end) return;
    if (from.end - from.begin == 1)
      one_config(from, begin, end);
    else
      for (uint32_t at = begin; at < end && !chart_.is_overflown(); at = trie_[at].skip)
        step(from, at);
  }
  void step(const Chart::Frontier& from, uint32_t at) {
    ++n_nodes_;
    const Chart::Frontier behind = chart_.step(from, trie_[at].byte);
    if (behind.is_alive()) {
      set_bits(trie_.tokens_at(at), bits_);
      if (behind.is_end) at_end_(at);
      if (behind.has_configs()) below(behind, at + 1, trie_[at].skip);
    }
    chart_.go_back(from);
  }
  // True if every text at the node or below it leads on from the state.
  bool allows_all(const ByteTrie::Node& node, uint32_t state) const {
    if ((node.kinds & ~grammar_.loops(state)) == 0) return true;
    // Inside a character none begins, and the state says nothing of it.
    return (node.kinds & ~(kPlainAscii | kNotAscii)) == 0 && node.n_characters > 0 &&
           node.n_characters <= grammar_.n_free_characters(state);
  }
  // Does the same for one config; local states need no chart.
  void one_config(const Chart::Frontier& from, uint32_t begin, uint32_t end) {
    const Chart::Config config = chart_.config(from.begin);
    // At the bottom there is no caller: the end of the rule is the end of the text.
    const bool is_bottom = config.node == Chart::kBottom;
    states_[trie_[begin].depth] = config.state;
    for (uint32_t at = begin; at < end && !chart_.is_overflown();) {
      const ByteTrie::Node& node = trie_[at];
      const uint32_t state = states_[node.depth];
      ++n_nodes_;
      if (fault_on(Fault::kHalfCharacterBarred) && (node.kinds & kNotUtf8) != 0) {
        at = node.skip;
        continue;
      }
      if (allows_all(node, state)) {
        set_bits(trie_.tokens_below(at), bits_);
        at = node.skip;
        continue;
      }
      const uint32_t to = grammar_.next(state, node.byte);
      if (to == Grammar::kNone) {
        at = node.skip;
      } else if (is_bottom ? grammar_.is_local(to) : grammar_.is_plain(to)) {
        states_[node.depth + 1] = to;
        set_bits(trie_.tokens_at(at), bits_);
        if (grammar_.ends(to)) at_end_(at);
        at = grammar_.has_steps(to) ? at + 1 : node.skip;
      } else {
        // step() changes states_ at greater depths only.
        const Chart::Frontier here = chart_.push({state, config.node});
        step(here, at);
        chart_.go_back(from);
        at = node.skip;
      }
    }
  }

  Chart& chart_;
  const Grammar& grammar_;
  const ByteTrie& trie_;
  std::span<uint64_t> bits_;
  const AtEnd& at_end_;
  std::vector<uint32_t> states_;  // of a path, before each depth
  size_t n_nodes_ = 0;
};

}  // namespace

MaskTable::MaskTable(GrammarPtr grammar, MaskStorePtr store)
    : grammar_(std::move(grammar)),
      store_(std::move(store)),
      id_(store_->new_grammar()),
      behind_calls_(bytes_behind_calls(*grammar_)) {}

void MaskTable::add_tokens(Chart& chart, const Chart::Frontier& at,
                           std::span<uint64_t> bits) const {
  const auto nothing = [](uint32_t) {};
  std::vector<Chart::Config> configs;
  for (uint32_t i = at.begin; i < at.end; ++i) configs.push_back(chart.config(i));
  std::sort(configs.begin(), configs.end(), [](Chart::Config a, Chart::Config b) {
    return a.state != b.state ? a.state < b.state : a.node < b.node;
  });
  std::vector<Chart::Config> walked;
  for (size_t begin = 0, end; begin < configs.size(); begin = end) {
    const uint32_t state = configs[begin].state;
    for (end = begin; end < configs.size() && configs[end].state == state;) ++end;
    const std::span<const Chart::Config> of_one(configs.data() + begin, end - begin);
    const auto of = of_state(state);
    if (of->is_walked) {
      walked.insert(walked.end(), of_one.begin(), of_one.end());
      continue;
    }
    for (size_t word = 0; word < bits.size(); ++word) bits[word] |= of->bits[word];
    if (of->rests.size() > 0) Walk(&chart, of->rests, bits, nothing).run(chart.behind(of_one));
    chart.go_back(at);
  }
  if (!walked.empty())
    Walk(&chart, vocabulary().trie(), bits, nothing).run(chart.some_of(at, walked));
  chart.go_back(at);
}

std::shared_ptr<const StateMask> MaskTable::of_state(uint32_t state) const {
  state = grammar_->alike(state, size_t{vocabulary().trie().max_depth()} + 1);
  const uint32_t in_string = grammar_->place_in_string(state);
  const bool is_of_all = in_string != Grammar::kNone;
  const MaskStore::Key key =
      is_of_all ? MaskStore::Key{MaskStore::kOfAll, in_string} : MaskStore::Key{id_, state};
  std::shared_ptr<const StateMask> mask = store_->find(key);
  if (mask == nullptr) {
    mask = make(state, is_of_all ? bytes_behind_strings() : behind_calls_);
    store_->add(key, mask);
  }
  return mask;
}

// `behind`: bytes that may follow the end of the state's rule.
std::shared_ptr<const StateMask> MaskTable::make(uint32_t state,
                                                 const std::bitset<256>& behind) const {
  auto of = std::make_shared<StateMask>();
  const ByteTrie& trie = vocabulary().trie();
  of->bits.resize(vocabulary().n_mask_words());
  std::vector<uint32_t> ends;
  Chart chart(grammar_);
  const auto at_end = [&](uint32_t node) { ends.push_back(node); };
  Walk walk(&chart, trie, std::span<uint64_t>(of->bits), at_end);
  walk.run(chart.at_state(state));
  of->is_walked = walk.n_nodes() < kFewNodes || chart.is_overflown();
  if (of->is_walked) {
    of->bits = {};
    return of;
  }
  std::vector<ByteTrie::Entry> rests;
  if (behind.none()) ends.clear();
  for (const uint32_t node : ends)
    for (const Token token : trie.tokens_below(node)) {
      const std::string_view bytes = vocabulary().bytes(token);
      const size_t n_read = size_t{trie[node].depth} + 1;
      if (bytes.size() <= n_read || !behind[static_cast<uint8_t>(bytes[n_read])]) continue;
      const bool is_set = of->bits[static_cast<size_t>(token) / 64] >> (token % 64) & 1;
      if (!is_set) rests.push_back({bytes.substr(n_read), token});
    }
  of->rests = ByteTrie(std::move(rests));
  return of;
}

}  // namespace pando::grammar
