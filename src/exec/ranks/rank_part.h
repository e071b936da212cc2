// Part of a step that one rank computes.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "contract/device.h"
#include "contract/ranks.h"
#include "exec/ranks/kv_exchange.h"
#include "exec/ranks/step_outputs.h"

namespace pando::exec {

KvParts kv_parts(const RankLayout& layout, size_t n_pages_each, int tile_len);

// Computes its share of each step, and exchanges rows with other ranks: parts of rows in its stage,
// and whole rows with the stages before and after. Rows flow through the stages in slices, so that
// stages work at the same time. One thread, the same on which the others of its rank are used.
class RankPart {
 public:
  // `model` (the rank's share), `pool` and `ranks.comm` outlive it. room: of the share, with
  // numbers of pages that fit on all ranks.
  RankPart(const DeviceModel& model, ThreadPool& pool, const ExecutorOptions& options,
           const KvRoom& room, const RankGroup& ranks);

  // The slices in which the step flows through the stages.
  std::vector<DealtStep> cut(StepPlan plan) const;
  // Computes its share of them, and waits for no later stage. In the last stage, with more than 64
  // MiB of logits, waits until rank 0 reads them. Throws std::runtime_error if another rank is
  // gone, as does the next.
  void run(std::span<const DealtStep> slices);
  // On rank 0, once for each step, in order: waits for the last stage, and returns the outputs.
  // Their logits may still come. With one stage, before the next call of run.
  StepOutputs collect(std::span<const DealtStep> slices);
  // On rank 0: computes its own slice of the logits of outputs [first, first + n). out: [n, vocab].
  void own_logits(const StepOutputs& outputs, uint32_t first, uint32_t n, float* out);
  // Bytes sent for attention to ranks with other positions.
  uint64_t n_attention_bytes() const { return exchange_ ? exchange_->n_bytes() : 0; }
  StageExecutor& executor() { return *executor_; }
  const StageExecutor& executor() const { return *executor_; }

 private:
  void gather(const float* own, uint32_t n_rows, std::span<const int> sizes, float* all);
  std::unique_ptr<StageExecutor> open(const DeviceModel& model, ThreadPool& pool,
                                      const ExecutorOptions& options, KvRoom room);
  bool gives_hidden() const;
  size_t n_between(const DealtStep& slice, int layer) const;
  void post(int to, const float* values, size_t n);
  void send_logits(std::span<const DealtStep> slices);
  std::vector<float> collect_hidden(std::span<const DealtStep> slices);
  std::vector<LogitStream> streams_of(int part, size_t n_rows) const;

  RankGroup ranks_;
  const model::ModelSpec& spec_;  // of the whole model
  ModelShare share_;
  std::pair<int, int> layers_;  // [first, second) of its stage
  size_t d_model_;
  KvParts parts_;                             // of positions
  uint32_t part_;                             // its own
  StateSlot spare_slot_;                      // the first of kSpareSlots behind the plans' slots
  size_t state_bytes_;                        // of a block's states for one row
  std::vector<int> peers_;                    // the other ranks that divide its matrices
  std::vector<std::vector<float>> of_peers_;  // their parts of rows
  std::optional<KvExchange> exchange_;        // set if positions are divided
  std::unique_ptr<StageExecutor> executor_;
  std::vector<float> before_;  // [own rows, d_model] of the stage before
  std::vector<float> hidden_;  // [its outputs of the last step, d_model], in the last stage
  std::vector<float> read_;    // [some of these, d_model], whose logits are computed
  std::vector<float> logits_;  // [some of these, n_columns]
};

}  // namespace pando::exec
