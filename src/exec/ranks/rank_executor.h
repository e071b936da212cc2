// An executor whose model is spread over ranks.
#pragma once

#include <deque>
#include <vector>

#include "exec/ranks/rank_part.h"

namespace pando::exec {

// The executor of rank 0. `submit` sends a step to the other ranks, which run serve_rank, and
// computes its own share; `finish` waits for the last stage. So stages work on several steps at the
// same time, one each. Engines of one process take turns, step by step. After an error every later
// step fails.
class RankExecutor final : public Executor {
 public:
  // room: from kv_room_on_ranks. Each other rank makes an executor too, and keeps it until this one
  // is destroyed. Throws std::runtime_error if one is gone.
  RankExecutor(const DeviceModel& model, ThreadPool& pool, const ExecutorOptions& options,
               const KvRoom& room, const RankGroup& ranks);
  ~RankExecutor() override;

  const ExecutorFacts& facts() const override { return facts_; }
  void submit(StepPlan plan) override;
  void finish() override;
  const float* hidden(uint32_t first, uint32_t n) override;
  void logits(uint32_t first, uint32_t n, float* out) override;
  bool prepare(size_t n_touched, size_t n_windows_touched) override {
    return part_.executor().prepare(n_touched, n_windows_touched);
  }
  size_t ready_bytes(size_t n_touched, size_t n_windows_touched) const override {
    return part_.executor().ready_bytes(n_touched, n_windows_touched);
  }
  size_t kv_bytes(size_t n_used) const override { return part_.executor().kv_bytes(n_used); }
  PhaseTimes times() const override;

 private:
  static void settle();
  void take_turn();
  void collect_all();
  template <class Part>
  void run_or_abort(const Part& part);

  Comm& comm_;
  uint32_t id_;  // of the executor, on all ranks
  RankPart part_;
  ExecutorFacts facts_;
  bool posts_plans_;                              // or waits until they are received
  std::deque<std::vector<DealtStep>> submitted_;  // slices of steps whose outputs have not come
  std::deque<StepOutputs> collected_;             // of steps before these
  std::vector<std::byte> last_plan_;              // as it was sent
  StepOutputs outputs_;                           // of the step that was finished last
};

}  // namespace pando::exec
