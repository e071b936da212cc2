// Random texts of a grammar, for tests.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "text/grammar/grammar.h"

namespace pando::testing {

// Walks at random, and the shortest way to the end once a text is long.
class GrammarSampler {
 public:
  explicit GrammarSampler(const grammar::Grammar& grammar)
      : grammar_(grammar), shortest_(grammar.n_states(), kEndless) {
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t state = 0; state < grammar.n_states(); ++state) {
        size_t least = grammar.ends(state) ? 0 : kEndless;
        for (const Way& way : ways(state)) least = std::min(least, length_of(way));
        if (least < shortest_[state]) changed = true, shortest_[state] = least;
      }
    }
  }

  std::string text(std::mt19937& rng, size_t n_bytes) const {
    std::string text;
    std::vector<uint32_t> back;
    uint32_t state = grammar_.start_of(grammar_.start_rule());
    bool is_refused = false;  // a counted rule refused the last byte
    while (true) {
      std::vector<Way> all = ways(state);
      const bool may_end = grammar_.ends(state);
      const bool is_long = text.size() >= n_bytes && !std::exchange(is_refused, false);
      std::erase_if(all, [&](const Way& way) {
        return is_long && length_of(way) > shortest_[grammar_.uncounted(state)];
      });
      const bool ends = may_end && (is_long || all.empty() || rng() % 3 == 0);
      if (ends) {
        if (back.empty()) return text;
        state = back.back();
        back.pop_back();
        continue;
      }
      const Way way = all[rng() % all.size()];
      if (way.kind == Way::kByte) {
        const auto byte = static_cast<uint8_t>(way.first + rng() % (way.last - way.first + 1u));
        const uint32_t next = grammar_.next(state, byte);
        is_refused = next == grammar::Grammar::kNone;
        if (is_refused) continue;
        text += static_cast<char>(byte);
        state = next;
      } else {
        if (way.kind == Way::kCall) back.push_back(way.target);
        state = way.kind == Way::kCall ? grammar_.start_of(way.rule) : way.target;
      }
    }
  }

 private:
  static constexpr size_t kEndless = 1u << 20;
  struct Way {
    enum Kind { kByte, kCall, kJump } kind;
    uint8_t first, last;
    uint32_t rule, target;
  };
  std::vector<Way> ways(uint32_t state) const {
    std::vector<Way> all;
    for (const auto& step : grammar_.steps(grammar_.uncounted(state)))
      all.push_back({Way::kByte, step.first, step.last, 0, step.target});
    for (const auto& call : grammar_.calls(state))
      all.push_back({Way::kCall, 0, 0, call.rule, call.target});
    for (const uint32_t target : grammar_.jumps(state))
      all.push_back({Way::kJump, 0, 0, 0, target});
    return all;
  }
  size_t length_of(const Way& way) const {
    const size_t behind = shortest_[grammar_.uncounted(way.target)];
    if (way.kind == Way::kJump) return behind;
    if (way.kind == Way::kByte) return behind + 1;
    return behind + shortest_[grammar_.uncounted(grammar_.start_of(way.rule))];
  }

  const grammar::Grammar& grammar_;
  std::vector<size_t> shortest_;  // bytes from a state to the end of its rule
};

}  // namespace pando::testing
