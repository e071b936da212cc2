// Runs steps: chooses the sequences that advance, reserves pages, submits the pass and reads its
// outputs.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "contract/executor.h"
#include "engine/output_reader.h"
#include "engine/residency.h"
#include "engine/work_view.h"
#include "pando/values/engine_stats.h"
#include "plan/planner.h"
#include "schedule/batcher.h"

namespace pando {

// Parts that a StepRunner works with. All of them outlive it.
struct StepRunnerParts {
  const EngineOptions& options;
  Planner& planner;
  Batcher* batcher;  // null: FCFS
  Executor& executor;
  ThreadPool& pool;  // reads outputs
  Residency& residency;
  size_t depth;          // steps in flight at most
  size_t least_answers;  // of a step, where answers divide among them
  RankShape ranks;       // of the executor
  StepTiming* timing;    // null: rows alone fill a step
  EngineStats& stats;    // steps are counted in it
};

// A step that was submitted. The executor may still compute it.
struct SubmittedStep {
  std::vector<Share> shares;
  std::vector<WantedOutput> wanted;
  std::vector<Sequence*> sequences;  // of `wanted`
  std::vector<uint32_t> output_of;   // PlannedStep
  uint32_t n_outputs = 0;
  std::chrono::steady_clock::time_point begin;  // when it was chosen
  std::optional<StepTiming::Chosen> timed;      // set if it was filled by predicted time
};

// Owns no sequence. One thread.
class StepRunner {
 public:
  // Receives the token that was read from an output row of a sequence.
  using Take = std::function<void(Sequence& sequence, ReadRow row)>;

  explicit StepRunner(const StepRunnerParts& parts);

  // Chooses which of the open sequences the next step advances, and reserves their pages. `open`
  // must not be empty. At least one sequence of it advances, unless steps are in flight.
  std::vector<Share> choose(const Sequences& open);
  // Plans and submits the step. `begin`: when it was chosen.
  void submit(std::vector<Share> shares, std::chrono::steady_clock::time_point begin);
  // Gives back what was reserved: in place of submit(), or after it threw.
  void abort();

  bool takes_more() const { return in_flight_.size() < depth_; }
  size_t n_in_flight() const { return in_flight_.size(); }
  // The step that was submitted first, for `finish`. Its sequences have no part in it any more.
  SubmittedStep next();
  // Waits for the step and commits it; calls `take` for each row that was read, in order. If the
  // executor throws, aborts all steps in flight: their rows are missing again. `open`: as for
  // `choose`, and all sequences that are done and have a part in a step in flight.
  void finish(const SubmittedStep& step, const Sequences& open, const Take& take);
  // Call after each step that did not fail.
  void observe(const SubmittedStep& step);

  // Bytes of keys, values and states in use.
  size_t kv_bytes() const;
  const OutputReader& outputs() const { return outputs_; }
  void observe_logits(OutputReader::LogitsObserver observer) {
    outputs_.observe(std::move(observer));
  }

 private:
  // Counts as in EngineStats.
  struct StepRows {
    uint64_t decode, prefill, recomputed, pad;
  };

  WorkViewBuilder look(const Sequences& open, Batcher& batcher);
  std::vector<Share> choose(const Sequences& open, Batcher& batcher, const WorkViewBuilder& work);
  size_t most_answering(const Sequences& open) const;
  WantedOutput wanted_output(const Share& share) const;
  StepRows rows_of(const PlannedStep& step, std::span<const Share> shares) const;
  void count(const StepRows& rows);  // of a step that the executor accepted
  void abort_all(const Sequences& open);

  const EngineOptions& options_;
  Executor& executor_;
  Residency& residency_;
  size_t depth_;
  size_t least_answers_;
  RankShape ranks_;
  StepTiming* timing_;
  EngineStats& stats_;
  Planner& planner_;
  FcfsBatcher fcfs_;
  Batcher& batcher_;
  OutputReader outputs_;
  bool reserved_all_ = false;            // all shares of the last choice have their pages
  bool goes_by_time_ = false;            // the last choice is timing_'s
  std::deque<SubmittedStep> in_flight_;  // the oldest first
};

}  // namespace pando
