// What the sequences of a step make of their rows: tokens, log-probabilities, embeddings.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "engine/sequence.h"
#include "model/transformer.h"
#include "plan/planner.h"

namespace pando {

constexpr size_t kLogitRows = 32;  // rows of logits that are held at a time

class OutputReader {
 public:
  // Every row of logits that is read, [vocab]; `position` is that of the token after it.
  using LogitsObserver =
      std::function<void(RequestId, int choice, uint32_t position, std::span<const float> logits)>;

  OutputReader(model::Transformer& transformer, ThreadPool& pool, int vocab, int d_model)
      : transformer_(transformer), pool_(pool), vocab_(vocab), d_model_(d_model) {}

  void observe(LogitsObserver observer) { observer_ = std::move(observer); }

  // `hidden`: [step.plan.outputs, d_model] after the final norm; `sequences`: whose outputs are
  // `wanted`. By wanted output and position, what take() goes on with; embeddings are in the
  // completions already.
  std::vector<std::vector<TokenLogprob>> read(const PlannedStep& step, const float* hidden,
                                              const std::vector<WantedOutput>& wanted,
                                              const std::vector<Sequence*>& sequences);
  double seconds() const { return seconds_; }  // outside of the model

 private:
  struct Row {
    size_t wanted;
    uint32_t position;
    size_t of_block;
  };
  void read_logits(const std::vector<Row>& rows, const std::vector<WantedOutput>& wanted,
                   const std::vector<Sequence*>& sequences,
                   std::vector<std::vector<TokenLogprob>>& read);

  model::Transformer& transformer_;
  ThreadPool& pool_;
  size_t vocab_, d_model_;
  std::vector<float> logits_;  // [kLogitRows, vocab]
  LogitsObserver observer_;
  double seconds_ = 0;
};

}  // namespace pando
