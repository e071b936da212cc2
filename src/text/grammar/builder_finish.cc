// Rules as deterministic automata: unproductive parts go, then the subset construction for each
// rule.
#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/errors.h"
#include "text/grammar/builder.h"
#include "text/grammar/packer.h"

namespace pando::grammar {

// Finds states that lead to the end of their rule by a finite text.
class Productive {
 public:
  explicit Productive(const Builder& builder)
      : builder_(builder), is_live_(builder.edges_.size()), is_rule_live_(builder.rules_.size()) {
    const size_t n = builder.edges_.size();
    std::vector<std::vector<uint32_t>> before(n), callers(builder.rules_.size());
    std::vector<std::vector<uint32_t>> rules_at(n);
    for (uint32_t from = 0; from < n; ++from)
      for (const Builder::Edge& edge : builder.edges_[from]) {
        before[edge.target].push_back(from);
        if (edge.kind == Builder::Kind::kCall) callers[edge.rule].push_back(from);
      }
    for (uint32_t rule = 0; rule < builder.rules_.size(); ++rule) {
      rules_at[builder.rules_[rule].start].push_back(rule);
      mark(builder.rules_[rule].end);
    }
    while (!todo_.empty()) {
      const uint32_t at = todo_.back();
      todo_.pop_back();
      for (const uint32_t from : before[at]) look(from);
      for (const uint32_t rule : rules_at[at]) {
        is_rule_live_[rule] = true;
        for (const uint32_t from : callers[rule]) look(from);
      }
    }
  }
  bool state(uint32_t at) const { return is_live_[at]; }
  bool rule(uint32_t at) const { return is_rule_live_[at]; }

 private:
  void mark(uint32_t state) {
    if (is_live_[state]) return;
    is_live_[state] = true;
    todo_.push_back(state);
  }
  void look(uint32_t state) {
    if (is_live_[state]) return;
    for (const Builder::Edge& edge : builder_.edges_[state])
      if (is_live_[edge.target] && (edge.kind != Builder::Kind::kCall || is_rule_live_[edge.rule]))
        return mark(state);
  }
  const Builder& builder_;
  std::vector<bool> is_live_, is_rule_live_;
  std::vector<uint32_t> todo_;
};

namespace {

struct StatesHash {
  size_t operator()(const std::vector<uint32_t>& states) const {
    uint64_t hash = states.size();
    for (const uint32_t state : states) {
      hash = (hash ^ state) * 0x9E3779B97F4A7C15u;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

}  // namespace

// The subset construction of one rule after another. Calls and jumps are kept.
class RuleDeterminiser {
 public:
  RuleDeterminiser(const Builder& builder, const Productive& productive, GrammarPacker* out)
      : builder_(builder), productive_(productive), out_(out), seen_(builder.edges_.size()) {}

  // False if a limit is exceeded.
  bool run() {
    number_of(0);
    for (size_t i = 0; i < rules_.size(); ++i)
      if (!add_rule(rules_[i])) return false;
    return true;
  }

 private:
  using States = std::vector<uint32_t>;

  uint32_t number_of(uint32_t rule) {
    const auto [at, is_new] = numbers_.try_emplace(rule, static_cast<uint32_t>(rules_.size()));
    if (is_new) rules_.push_back(rule);
    return at->second;
  }

  bool add_rule(uint32_t rule) {
    rule_ = rule;
    ids_.clear();
    sets_.clear();
    base_ = static_cast<uint32_t>(out_->n_states());
    out_->begin_rule(id_of({builder_.rules_[rule].start}));
    for (size_t i = 0; i < sets_.size(); ++i) {
      add_state(*sets_[i]);
      if (base_ + sets_.size() > kMostStates || work_ > kMostSubsetWork) return false;
    }
    if (rule == builder_.string_rule && builder_.style().shares_strings)
      out_->set_string_states(base_, static_cast<uint32_t>(sets_.size()));
    const auto counted = builder_.counted_.find(rule);
    if (counted != builder_.counted_.end()) count(counted->second);
    return true;
  }

  // Between two characters the rule is in exactly one state of its lengths.
  void count(const Builder::Counted& counted) {
    std::vector<uint32_t> in_lengths(sets_.size(), Grammar::kNone);
    for (size_t i = 0; i < sets_.size(); ++i)
      for (const uint32_t state : *sets_[i])
        if (const uint32_t place = state - counted.first; place < counted.lengths.n_states())
          in_lengths[i] = place;
    out_->count(counted.lengths, std::move(in_lengths));
  }

  // States behind which the rule is over: a call of the rule itself before them is a loop.
  bool only_ends(uint32_t state) const {
    for (size_t i = 0; i < 8; ++i) {
      if (state == builder_.rules_[rule_].end) return builder_.edges_[state].empty();
      const auto& edges = builder_.edges_[state];
      if (edges.size() != 1 || edges[0].kind != Builder::Kind::kEmpty) return false;
      state = edges[0].target;
    }
    return false;
  }

  uint32_t id_of(const States& from) {
    ++epoch_;
    States all;
    const auto add = [&](uint32_t state) {
      if (productive_.state(state) && std::exchange(seen_[state], epoch_) != epoch_)
        all.push_back(state);
    };
    for (const uint32_t state : from) add(state);
    for (size_t i = 0; i < all.size(); ++i) {
      work_ += 1 + builder_.edges_[all[i]].size();
      for (const Builder::Edge& edge : builder_.edges_[all[i]]) {
        if (edge.kind == Builder::Kind::kEmpty) add(edge.target);
        if (edge.kind == Builder::Kind::kCall && edge.rule == rule_ && only_ends(edge.target))
          add(builder_.rules_[rule_].start);
      }
    }
    std::sort(all.begin(), all.end());
    const auto [at, is_new] = ids_.try_emplace(std::move(all), static_cast<uint32_t>(sets_.size()));
    if (is_new) sets_.push_back(&at->first);
    return base_ + at->second;
  }

  void add_state(const States& states) {
    std::map<uint32_t, States> calls;
    States jumps;
    struct Bytes {
      int first, last;
      uint32_t target;
    };
    std::vector<Bytes> edges;
    for (const uint32_t state : states)
      for (const Builder::Edge& edge : builder_.edges_[state]) {
        if (!productive_.state(edge.target)) continue;
        if (edge.kind == Builder::Kind::kBytes)
          edges.push_back({edge.first, edge.last, edge.target});
        if (edge.kind == Builder::Kind::kJump) jumps.push_back(edge.target);
        if (edge.kind == Builder::Kind::kCall && productive_.rule(edge.rule) &&
            !(edge.rule == rule_ && only_ends(edge.target)))
          calls[edge.rule].push_back(edge.target);
      }
    work_ += states.size() + edges.size();
    std::vector<Grammar::Step> steps;
    std::vector<int> ends{256};
    for (const Bytes& edge : edges) {
      ends.push_back(edge.first);
      ends.push_back(edge.last + 1);
    }
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    std::sort(edges.begin(), edges.end(),
              [](const Bytes& a, const Bytes& b) { return a.first < b.first; });
    std::vector<Bytes> open;
    size_t next_edge = 0;
    for (size_t i = 0; i + 1 < ends.size(); ++i) {
      const int first = ends[i], last = ends[i + 1] - 1;
      std::erase_if(open, [&](const Bytes& edge) { return edge.last < first; });
      for (; next_edge < edges.size() && edges[next_edge].first <= first; ++next_edge)
        open.push_back(edges[next_edge]);
      if (open.empty()) continue;
      States targets;
      for (const Bytes& edge : open) targets.push_back(edge.target);
      work_ += open.size();
      std::sort(targets.begin(), targets.end());
      targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
      const uint32_t target = id_of(targets);
      if (!steps.empty() && steps.back().last + 1 == first && steps.back().target == target)
        steps.back().last = static_cast<uint8_t>(last);
      else
        steps.push_back({static_cast<uint8_t>(first), static_cast<uint8_t>(last), target});
    }
    std::vector<Grammar::Call> called;
    for (const auto& [rule, targets] : calls) called.push_back({number_of(rule), id_of(targets)});
    for (uint32_t& jump : jumps) jump = id_of({jump});
    std::sort(jumps.begin(), jumps.end());
    jumps.erase(std::unique(jumps.begin(), jumps.end()), jumps.end());
    const bool ends_rule =
        std::binary_search(states.begin(), states.end(), builder_.rules_[rule_].end);
    out_->add_state(steps, called, jumps, ends_rule);
  }

  const Builder& builder_;
  const Productive& productive_;
  GrammarPacker* out_;
  std::vector<uint32_t> rules_;  // of the builder, in the order of the grammar
  std::unordered_map<uint32_t, uint32_t> numbers_;
  std::vector<uint32_t> seen_;
  uint32_t epoch_ = 0;
  uint32_t rule_ = 0;
  uint32_t base_ = 0;
  size_t work_ = 0;
  std::unordered_map<States, uint32_t, StatesHash> ids_;
  std::deque<const States*> sets_;
};

std::vector<bool> Builder::has_text() const {
  const Productive productive(*this);
  std::vector<bool> all(rules_.size());
  for (Rule rule = 0; rule < all.size(); ++rule) all[rule] = productive.rule(rule);
  return all;
}

Result<GrammarPtr> Builder::finish() const {
  if (is_too_large())
    return unsupported("the form is too large: more than {} parts", kMostNfaStates);
  if (rules_.size() > kMostRules)
    return unsupported("the form is too large: more than {} rules", kMostRules);
  const Productive productive(*this);
  if (!productive.rule(0))
    return invalid_argument(
        "no text fits the form: its conditions contradict each other, or every text would be "
        "endless");
  GrammarPacker packer;
  if (!RuleDeterminiser(*this, productive, &packer).run())
    return unsupported("the form is too large: its automaton has more than {} states", kMostStates);
  if (GrammarPtr grammar = packer.finish()) return grammar;
  return unsupported("the form is too large: its strings may have too many lengths");
}

}  // namespace pando::grammar
