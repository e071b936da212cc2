// All ways in which a grammar reads the text so far. docs/grammar.md has the algorithm.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "text/grammar/grammar.h"

namespace pando::grammar {

// A graph of stacks. A node is a call of a rule at a place in the text; its edges say what comes
// behind the call, for each of its callers. One owner, one thread. Copies are independent.
class Chart {
 public:
  // A state of the automaton, inside the call that is `node`.
  struct Config {
    uint32_t state;
    uint32_t node;
    bool operator==(const Config&) const = default;
  };
  static constexpr uint32_t kBottom = 0;  // the node that nothing called: the text itself
  // The configs behind some text, [begin, end), and how much the chart held with them: a chart goes
  // back to a frontier by forgetting what came later.
  struct Frontier {
    uint32_t begin = 0;
    uint32_t end = 0;
    uint32_t n_nodes = 0;
    uint32_t n_edges = 0;
    bool is_end = false;  // the text may end here: the bottom of the stack was reached

    bool has_configs() const { return begin != end; }
    bool is_alive() const { return has_configs() || is_end; }
  };

  explicit Chart(GrammarPtr grammar);

  Frontier at_start();
  // The bottom alone, in one state of the automaton.
  Frontier at_state(uint32_t state);
  // Some configs of a frontier by themselves, in a copy behind it.
  Frontier some_of(const Frontier& from, std::span<const Config> configs);
  // The frontier after the calls that are the nodes of `configs` have returned.
  Frontier behind(std::span<const Config> configs);
  // The frontier after one more byte. `from` must be the last frontier that is kept (see go_back).
  Frontier step(const Frontier& from, uint8_t byte);
  // Forgets what came after a frontier.
  void go_back(const Frontier& to) {
    configs_.resize(to.end);
    nodes_.resize(to.n_nodes);
    edges_.resize(to.n_edges);
  }
  // The last frontier again, where nothing goes back to one before it: their configs are forgotten.
  Frontier keep_only(const Frontier& last);

  const Config& config(uint32_t index) const { return configs_[index]; }
  const Grammar& grammar() const { return *grammar_; }
  // True if there were more configs at once than kMostConfigs, or more work since start_work() than
  // kMostChartWork. The results of the chart are invalid then.
  bool is_overflown() const { return is_overflown_; }
  void start_work() {
    is_overflown_ = false;
    work_ = 0;
  }

  // The frontier after a byte that leads from the only config of a frontier to a plain state.
  Frontier push(Config config) {
    const auto begin = static_cast<uint32_t>(configs_.size());
    configs_.push_back(config);
    return {begin, begin + 1, static_cast<uint32_t>(nodes_.size()),
            static_cast<uint32_t>(edges_.size()), false};
  }

 private:
  struct Node {
    uint32_t first_edge;
    bool is_popped;  // its call has ended at the place where it began
  };
  struct Edge {
    uint32_t state;
    uint32_t node;
    uint32_t next;
  };

  void begin();
  void add(uint32_t state, uint32_t node);
  void expand(Config config);
  void call(uint32_t rule, Config back);
  void add_edge(uint32_t node, Config back);
  void pop(uint32_t node);
  Frontier close();

  GrammarPtr grammar_;
  std::vector<Config> configs_;
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  // State of the frontier being made:
  uint32_t first_config_ = 0;
  uint32_t first_node_ = 0;
  bool is_end_ = false;
  bool is_overflown_ = false;
  size_t work_ = 0;
  uint32_t epoch_ = 0;
  std::vector<std::pair<uint32_t, uint32_t>> node_of_rule_;  // [n_rules] epoch, node
  std::vector<std::pair<uint32_t, uint32_t>> seen_;          // hash table: epoch, config
};

}  // namespace pando::grammar
