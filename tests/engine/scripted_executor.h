// An executor that makes a model answer as a test wants.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "contract/executor.h"

namespace pando::testing {

// The likeliest token behind a row is the one that a script has there; behind its end, its last.
class ScriptedExecutor final : public Executor {
 public:
  ScriptedExecutor(const ExecutorFacts& facts, std::vector<Token> script)
      : facts_(facts), script_(std::move(script)) {}

  const ExecutorFacts& facts() const override { return facts_; }
  void submit(StepPlan plan) override { plan_ = std::move(plan); }
  void finish() override {}
  const float* hidden(uint32_t, uint32_t) override { return nullptr; }
  void logits(uint32_t first, uint32_t n, float* out) override {
    std::fill_n(out, size_t{n} * facts_.vocab, 0.0f);
    for (uint32_t i = 0; i < n; ++i) {
      const uint32_t next = plan_.positions[plan_.outputs[first + i]] + 1;
      out[i * facts_.vocab + script_.at(std::min<size_t>(next, script_.size() - 1))] = 10;
    }
  }
  bool prepare(size_t, size_t) override { return false; }
  size_t ready_bytes(size_t, size_t) const override { return 0; }
  size_t kv_bytes(size_t n_used) const override { return n_used * facts_.page_bytes; }
  PhaseTimes times() const override { return {}; }

 private:
  ExecutorFacts facts_;
  std::vector<Token> script_;  // [position] tokens of prompt and answer
  StepPlan plan_;
};

}  // namespace pando::testing
