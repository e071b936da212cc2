// An executor that makes a model answer as a test wants.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "contract/executor.h"

namespace pando::testing {

// The likeliest token behind a row is the one that a script has there; behind its end, its last.
// script: of all positions, or with `opening` the answer alone: it begins behind the last row that
// has this token, which must be the last of every prompt. One path at a time.
class ScriptedExecutor final : public Executor {
 public:
  ScriptedExecutor(const ExecutorFacts& facts, std::vector<Token> script,
                   std::optional<Token> opening = {})
      : facts_(facts), script_(std::move(script)), opening_(opening) {}

  const ExecutorFacts& facts() const override { return facts_; }
  void submit(StepPlan plan) override { plan_ = std::move(plan); }
  void finish() override {}
  const float* hidden(uint32_t, uint32_t) override { return nullptr; }
  void logits(uint32_t first, uint32_t n, float* out) override {
    std::fill_n(out, size_t{n} * facts_.vocab, 0.0f);
    for (uint32_t i = 0; i < n; ++i) {
      const uint32_t row = plan_.outputs[first + i], next = plan_.positions[row] + 1;
      if (plan_.tokens[row] == opening_) begin_ = next;
      out[i * facts_.vocab + script_.at(std::min<size_t>(next - begin_, script_.size() - 1))] = 10;
    }
  }
  bool prepare(size_t, size_t) override { return false; }
  size_t ready_bytes(size_t, size_t) const override { return 0; }
  size_t kv_bytes(size_t n_used) const override { return n_used * facts_.page_bytes; }
  PhaseTimes times() const override { return {}; }

 private:
  ExecutorFacts facts_;
  std::vector<Token> script_;
  std::optional<Token> opening_;
  uint32_t begin_ = 0;  // position of the script
  StepPlan plan_;
};

}  // namespace pando::testing
