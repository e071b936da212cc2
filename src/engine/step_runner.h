// The step: chooses who advances, reserves pages, runs the pass and reads its outputs.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/output_reader.h"
#include "engine/residency.h"
#include "engine/work_view.h"
#include "exec/executor.h"
#include "plan/planner.h"
#include "schedule/batcher.h"

namespace pando {

// What a step works with. All of it outlives the StepRunner.
struct StepRunnerParts {
  const EngineOptions& options;
  Planner& planner;
  Batcher* batcher;  // null: FCFS
  Executor& executor;
  ThreadPool& pool;  // reads outputs
  Residency& residency;
  StepTiming* timing;  // null: rows alone fill a step
  EngineStats& stats;  // steps are counted in it
};

// Owns no sequence. One thread.
class StepRunner {
 public:
  // Is given the token that was read from an output row of a sequence.
  using Take = std::function<void(Sequence& sequence, TokenLogprob next)>;

  explicit StepRunner(const StepRunnerParts& parts);

  // Chooses which of the open sequences the next step advances, and reserves their pages. `open`
  // must not be empty; at least one sequence of it advances.
  std::vector<Share> choose(const Sequences& open);
  // Plans, computes and commits the step; calls `take` for each row that was read, in order.
  void run(std::span<const Share> shares, const Take& take);
  // Gives back what was reserved: in place of run(), or after run() threw.
  void abort();
  // To be called after each step: how long all of it took.
  void observe(double seconds);

  // Bytes of keys, values and states in use.
  size_t kv_bytes() const;
  const OutputReader& outputs() const { return outputs_; }
  void observe_logits(OutputReader::LogitsObserver observer) {
    outputs_.observe(std::move(observer));
  }

 private:
  WorkViewBuilder look(const Sequences& open, Batcher& batcher);
  std::vector<Share> choose(const Sequences& open, Batcher& batcher, const WorkViewBuilder& work);
  WantedOutput wanted_output(const Share& share) const;
  void count(const PlannedStep& step, std::span<const Share> shares);

  const EngineOptions& options_;
  Executor& executor_;
  Residency& residency_;
  StepTiming* timing_;
  EngineStats& stats_;
  Planner& planner_;
  FcfsBatcher fcfs_;
  Batcher& batcher_;
  OutputReader outputs_;
  bool reserved_all_ = false;  // all that was chosen last has its pages
  bool goes_by_time_ = false;  // the step under way is the one that timing_ chose
};

}  // namespace pando
