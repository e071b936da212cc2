// An executor without weights. It keeps every plan, and follows tasks and slots as attention would:
// the logits of a row are a function of its path, token by token, and of nothing else. A plan that
// leads a row to the wrong past gives other logits; a plan that leads a row nowhere makes finish()
// throw.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/mix.h"
#include "exec/executor.h"

namespace pando::testing {

class RecordingExecutor final : public Executor {
 public:
  explicit RecordingExecutor(const ExecutorFacts& facts) : facts_(facts) {}

  const std::vector<StepPlan>& plans() const { return plans_; }

  const ExecutorFacts& facts() const override { return facts_; }
  void submit(StepPlan plan) override { plans_.push_back(std::move(plan)); }
  void finish() override {
    const StepPlan& plan = plans_.at(n_finished_++);
    for (const kernel::PageCopy& copy : plan.copies)
      for (uint32_t i = 0; i < copy.n_positions; ++i)
        cells_[{copy.to, i}] = cells_.at({copy.from, i});
    paths_.clear();
    for (uint32_t row = 0; row < plan.n_rows(); ++row) {
      const uint64_t past = plan.positions[row] == 0 ? 0 : past_of(plan, row);
      const Cell cell{mix64(past ^ mix64(static_cast<uint32_t>(plan.tokens[row]) + 1)),
                      plan.positions[row]};
      for (uint32_t i = plan.slot_begin[row]; i < plan.slot_begin[row + 1]; ++i)
        cells_[{plan.slots[i].page, plan.slots[i].offset}] = cell;
      paths_.push_back(cell.path);
    }
    hidden_.clear();
    for (const uint32_t output : plan.outputs)
      for (int i = 0; i < facts_.d_model; ++i) hidden_.push_back(value(paths_[output], -1 - i));
  }
  const float* hidden(uint32_t first, uint32_t) override {
    return hidden_.data() + size_t{first} * facts_.d_model;
  }
  void logits(uint32_t first, uint32_t n, float* out) override {
    const StepPlan& plan = plans_.at(n_finished_ - 1);
    for (uint32_t i = first; i < first + n; ++i)
      for (int token = 0; token < facts_.vocab; ++token)
        *out++ = value(paths_[plan.outputs.at(i)], token);
  }
  bool prepare(size_t) override { return false; }
  size_t ready_bytes(size_t) const override { return 0; }
  size_t kv_bytes(size_t n_used) const override { return n_used * facts_.page_bytes; }
  PhaseTimes times() const override { return {}; }

 private:
  struct Cell {
    uint64_t path;  // of the token there and all before it
    uint32_t position;
  };

  // The path before a row, read from the slot of the position before its own.
  uint64_t past_of(const StepPlan& plan, uint32_t row) const {
    const uint32_t before = plan.positions[row] - 1;
    const auto tile_len = static_cast<uint32_t>(facts_.tile_len);
    const auto page_len = static_cast<uint32_t>(facts_.page_len);
    for (const kernel::AttentionTask& task : plan.tasks) {
      if (task.tile != before / tile_len || row < task.row_begin || row >= task.row_end) continue;
      const uint32_t page = before % tile_len / page_len;
      if (page >= task.n_pages) break;
      const Cell& cell = cells_.at({plan.task_pages.at(task.first_page + page), before % page_len});
      if (cell.position != before) break;
      return cell.path;
    }
    throw std::runtime_error("row " + std::to_string(row) + " does not meet its past");
  }

  // In [-4, 4).
  static float value(uint64_t path, int of) {
    const uint64_t bits = mix64(path ^ mix64(static_cast<uint64_t>(of)));
    return static_cast<float>(bits >> 40) * 0x1p-21f - 4;
  }

  ExecutorFacts facts_;
  std::vector<StepPlan> plans_;
  size_t n_finished_ = 0;
  std::map<std::pair<kernel::PageId, uint32_t>, Cell> cells_;  // by page and offset
  std::vector<uint64_t> paths_;                                // [rows of the last step]
  std::vector<float> hidden_;                                  // [outputs, d_model]
};

}  // namespace pando::testing
