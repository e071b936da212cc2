#include "text/grammar/chart.h"

#include <algorithm>

#include "text/grammar/limits.h"

namespace pando::grammar {

namespace {

constexpr uint32_t kNoEdge = UINT32_MAX;
constexpr size_t kFewConfigs = 16;  // so many are looked through
constexpr size_t kSlots = 65'536;
static_assert(kSlots >= 2 * kMostConfigs && (kSlots & (kSlots - 1)) == 0);

size_t slot_of(Chart::Config config, size_t n_slots) {
  uint64_t hash = (uint64_t{config.state} << 32 | config.node) * 0x9E3779B97F4A7C15u;
  return (hash ^ hash >> 32) & (n_slots - 1);
}

}  // namespace

Chart::Chart(GrammarPtr grammar)
    : grammar_(std::move(grammar)), node_of_rule_(grammar_->n_rules(), {0, 0}) {
  nodes_.push_back({kNoEdge, false});
}

Chart::Frontier Chart::at_start() {
  begin();
  add(grammar_->start_of(grammar_->start_rule()), kBottom);
  return close();
}

Chart::Frontier Chart::at_state(uint32_t state) { return push({state, kBottom}); }

Chart::Frontier Chart::some_of(const Frontier& from, std::span<const Config> configs) {
  const auto begin = static_cast<uint32_t>(configs_.size());
  configs_.insert(configs_.end(), configs.begin(), configs.end());
  return {begin, static_cast<uint32_t>(configs_.size()), from.n_nodes, from.n_edges, false};
}

Chart::Frontier Chart::behind(std::span<const Config> configs) {
  begin();
  for (const Config config : configs) pop(config.node);
  return close();
}

Chart::Frontier Chart::step(const Frontier& from, uint8_t byte) {
  begin();
  for (uint32_t i = from.begin; i < from.end; ++i) {
    const Config config = configs_[i];
    const uint32_t to = grammar_->next(config.state, byte);
    if (to != Grammar::kNone) add(to, config.node);
  }
  return close();
}

Chart::Frontier Chart::keep_only(const Frontier& last) {
  configs_.erase(configs_.begin(), configs_.begin() + last.begin);
  Frontier kept = last;
  kept.begin = 0;
  kept.end = last.end - last.begin;
  return kept;
}

void Chart::begin() {
  if (++epoch_ == 0) {  // after 2^32 epochs: forget the marks of earlier epochs
    std::fill(node_of_rule_.begin(), node_of_rule_.end(), std::pair<uint32_t, uint32_t>{});
    std::fill(seen_.begin(), seen_.end(), std::pair<uint32_t, uint32_t>{});
    epoch_ = 1;
  }
  first_config_ = static_cast<uint32_t>(configs_.size());
  first_node_ = static_cast<uint32_t>(nodes_.size());
  is_end_ = false;
}

void Chart::add(uint32_t state, uint32_t node) {
  if (++work_ > kMostChartWork) is_overflown_ = true;
  const Config config{state, node};
  const size_t n = configs_.size() - first_config_;
  if (n < kFewConfigs) {
    if (std::find(configs_.begin() + first_config_, configs_.end(), config) != configs_.end())
      return;
  } else {
    if (n >= kMostConfigs) {
      is_overflown_ = true;
      return;
    }
    if (seen_.empty()) seen_.assign(kSlots, {0, 0});
    const auto insert = [&](Config one, uint32_t index) {
      size_t slot = slot_of(one, seen_.size());
      for (; seen_[slot].first == epoch_; slot = (slot + 1) & (seen_.size() - 1))
        if (configs_[seen_[slot].second] == one) return false;
      seen_[slot] = {epoch_, index};
      return true;
    };
    if (n == kFewConfigs)  // from here on by the table
      for (uint32_t i = first_config_; i < configs_.size(); ++i) insert(configs_[i], i);
    if (!insert(config, static_cast<uint32_t>(configs_.size()))) return;
  }
  configs_.push_back(config);
}

void Chart::expand(Config config) {
  for (const uint32_t jump : grammar_->jumps(config.state)) add(jump, config.node);
  for (const Grammar::Call& call : grammar_->calls(config.state))
    this->call(call.rule, {call.target, config.node});
  if (grammar_->ends(config.state)) pop(config.node);
}

void Chart::call(uint32_t rule, Config back) {
  auto& [epoch, node] = node_of_rule_[rule];
  const bool is_new = epoch != epoch_;
  if (is_new) {
    epoch = epoch_;
    node = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back({kNoEdge, false});
  }
  const uint32_t called = node;
  // A call with nothing behind it returns to the callers of its caller: their edges are copied, so
  // that a long list does not make a long stack.
  if (grammar_->only_ends(back.state) && back.node != kBottom && back.node < first_node_) {
    for (uint32_t at = nodes_[back.node].first_edge; at != kNoEdge; at = edges_[at].next)
      add_edge(called, {edges_[at].state, edges_[at].node});
  } else {
    add_edge(called, back);
  }
  if (is_new) add(grammar_->start_of(rule), called);
}

void Chart::add_edge(uint32_t node, Config back) {
  for (uint32_t at = nodes_[node].first_edge; at != kNoEdge; at = edges_[at].next, ++work_)
    if (edges_[at].state == back.state && edges_[at].node == back.node) return;
  edges_.push_back({back.state, back.node, nodes_[node].first_edge});
  nodes_[node].first_edge = static_cast<uint32_t>(edges_.size() - 1);
  if (nodes_[node].is_popped) add(back.state, back.node);
}

void Chart::pop(uint32_t node) {
  if (node == kBottom) {
    is_end_ = true;
    return;
  }
  if (node >= first_node_) nodes_[node].is_popped = true;
  for (uint32_t at = nodes_[node].first_edge; at != kNoEdge; at = edges_[at].next)
    add(edges_[at].state, edges_[at].node);
}

Chart::Frontier Chart::close() {
  for (uint32_t i = first_config_; i < configs_.size() && !is_overflown_; ++i) {
    const Config config = configs_[i];
    if (!grammar_->is_plain(config.state)) expand(config);
  }
  // Configs without steps over bytes have done their part.
  configs_.erase(std::remove_if(configs_.begin() + first_config_, configs_.end(),
                                [&](Config config) { return !grammar_->has_steps(config.state); }),
                 configs_.end());
  return {first_config_, static_cast<uint32_t>(configs_.size()),
          static_cast<uint32_t>(nodes_.size()), static_cast<uint32_t>(edges_.size()), is_end_};
}

}  // namespace pando::grammar
