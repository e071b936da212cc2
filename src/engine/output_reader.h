// Turns the output rows of a step into tokens, log-probabilities and embeddings.
#pragma once

#include <functional>
#include <optional>
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

  // Reads the outputs of the step that the executor finished last. output_of: see PlannedStep.
  // sequences: one for each wanted output. Returns the rows for Sequence::take(), by wanted output
  // and position; none for a sequence that is done. Embeddings are added to the completions at
  // once.
  std::vector<std::vector<ReadRow>> read(std::span<const uint32_t> output_of, uint32_t n_outputs,
                                         const std::vector<WantedOutput>& wanted,
                                         const std::vector<Sequence*>& sequences);
  double seconds() const { return seconds_; }  // outside of the executor

 private:
  struct Row {
    size_t wanted;
    uint32_t position;
    size_t of_block;
    std::optional<Token> largest = {};  // its id, in place of the row's logits
  };
  // Computes the logits of outputs [first, first + n), or the ids of the largest ones.
  void compute_logits(uint32_t first, uint32_t n, std::vector<Row>& rows,
                      const std::vector<Sequence*>& sequences);
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
