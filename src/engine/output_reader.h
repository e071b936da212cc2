// What the sequences of a step make of their rows: tokens, log-probabilities, embeddings.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "contract/executor.h"
#include "engine/sequence.h"
#include "plan/planner.h"

namespace pando {

constexpr uint32_t kLogitRows = 32;  // rows of logits that are held at a time

class OutputReader {
 public:
  // Every row of logits that is read, [vocab]; `position` is that of the token after it.
  using LogitsObserver =
      std::function<void(RequestId, int choice, uint32_t position, std::span<const float> logits)>;

  OutputReader(Executor& executor, ThreadPool& pool)
      : executor_(executor),
        pool_(pool),
        vocab_(executor.facts().vocab),
        d_model_(executor.facts().d_model) {}

  void observe(LogitsObserver observer) { observer_ = std::move(observer); }

  // Of the step that the executor finished last, which has n_outputs. output_of: PlannedStep;
  // `sequences`: whose outputs are `wanted`. By wanted output and position, what take() goes on
  // with; embeddings are in the completions already. Nothing for a sequence that is done.
  std::vector<std::vector<ReadRow>> read(std::span<const uint32_t> output_of, uint32_t n_outputs,
                                         const std::vector<WantedOutput>& wanted,
                                         const std::vector<Sequence*>& sequences);
  double seconds() const { return seconds_; }  // outside of the executor

 private:
  struct Row {
    size_t wanted;
    uint32_t position;
    size_t of_block;
  };
  void read_logits(const std::vector<Row>& rows, const std::vector<WantedOutput>& wanted,
                   const std::vector<Sequence*>& sequences,
                   std::vector<std::vector<ReadRow>>& read);

  Executor& executor_;
  ThreadPool& pool_;
  size_t vocab_, d_model_;
  std::vector<float> logits_;  // [kLogitRows, vocab]
  LogitsObserver observer_;
  double seconds_ = 0;
};

}  // namespace pando
