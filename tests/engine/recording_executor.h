// An executor without weights. It keeps every plan and follows tasks and slots as attention would:
// each row must meet each tile up to its own position once, in pages that hold its own past. Where
// there are slots of states, each row must also get the state of its own past. A plan that leads a
// row elsewhere throws. The logits of a row depend on the tokens of its path alone. Steps are
// carried out in the order of submission, each when it is finished.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mix.h"
#include "contract/executor.h"

namespace pando::testing {

class RecordingExecutor final : public Executor {
 public:
  // fail_each: every fail_each-th step fails, and leaves nothing that it wrote; 0: none. refused:
  // number, from 1, of the step that is not accepted; 0: none.
  explicit RecordingExecutor(const ExecutorFacts& facts, size_t fail_each = 0, size_t refused = 0)
      : facts_(facts), fail_each_(fail_each), refused_(refused) {}

  const std::vector<StepPlan>& plans() const { return plans_; }
  // Steps that were submitted before the one before them was finished.
  size_t n_overlapping() const { return n_overlapping_; }

  const ExecutorFacts& facts() const override { return facts_; }
  void submit(StepPlan plan) override {
    if (++n_submitted_ == refused_) throw std::runtime_error("this step is refused");
    if (plans_.size() - n_finished_ == static_cast<size_t>(facts_.depth))
      throw std::runtime_error("too many steps are in flight");
    n_overlapping_ += plans_.size() > n_finished_;
    plans_.push_back(std::move(plan));
  }
  void finish() override {
    const StepPlan& plan = plans_.at(n_finished_++);
    for (const PageCopy& copy : plan.copies)
      for (uint32_t i = 0; i < copy.n_positions; ++i)
        cells_[{copy.to, i}] = cells_.at({copy.from, i});
    paths_.clear();
    pasts_.clear();
    for (uint32_t row = 0; row < plan.n_rows(); ++row) {
      const uint64_t past = plan.positions[row] == 0 ? 0 : past_of(plan, row);
      const uint64_t path = mix64(past ^ mix64(static_cast<uint32_t>(plan.tokens[row]) + 1));
      past_of_path_[path] = past;
      pasts_.push_back(past);
      for (uint32_t i = plan.slot_begin[row]; i < plan.slot_begin[row + 1]; ++i)
        cells_[{plan.slots[i].page, plan.slots[i].offset}] = path;
      paths_.push_back(path);
    }
    if (facts_.n_slots > 0) follow_states(plan);
    if (facts_.window > 0) follow_windows(plan);
    if (fail_each_ > 0 && n_finished_ % fail_each_ == 0) {
      spoil(plan);
      for (; n_finished_ < plans_.size(); ++n_finished_) spoil(plans_[n_finished_]);
      throw std::runtime_error("this step is to fail");
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
  bool prepare(size_t, size_t) override { return false; }
  size_t ready_bytes(size_t, size_t) const override { return 0; }
  size_t kv_bytes(size_t n_used) const override { return n_used * facts_.page_bytes; }
  PhaseTimes times() const override { return {}; }

 private:
  // Clears the places that a step writes if it fails, or one before it.
  void spoil(const StepPlan& plan) {
    for (const PageCopy& copy : plan.copies)
      for (uint32_t i = 0; i < copy.n_positions; ++i) cells_[{copy.to, i}] = 0;
    for (const KvSlot& slot : plan.slots) cells_[{slot.page, slot.offset}] = 0;
    for (const PageCopy& copy : plan.windows.copies)
      for (uint32_t i = 0; i < copy.n_positions; ++i) window_cells_[{copy.to, i}] = 0;
    for (const KvSlot& slot : plan.windows.slots) window_cells_[{slot.page, slot.offset}] = 0;
    for (const StateWrite& write : plan.state_writes) states_[write.to] = 0;
  }

  // The pages of a row's tile, as `list` has them for the tasks.
  std::span<const PageId> pages_of(const StepPlan& plan, std::span<const PageId> list, uint32_t row,
                                   uint32_t tile) const {
    std::span<const PageId> pages;
    for (const AttentionTask& task : plan.tasks) {
      if (task.tile != tile || row < task.row_begin || row >= task.row_end) continue;
      if (!pages.empty()) throw std::runtime_error("a row meets a tile twice");
      pages = list.subspan(task.first_page, task.n_pages);
    }
    return pages;
  }

  // The path before a row, from the position before its own. All earlier positions must hold the
  // beginnings of that path.
  uint64_t past_of(const StepPlan& plan, uint32_t row) const {
    const auto tile_len = static_cast<uint32_t>(facts_.tile_len);
    const auto page_len = static_cast<uint32_t>(facts_.page_len);
    uint64_t past = 0, expected = 0;
    for (uint32_t tile = (plan.positions[row] - 1) / tile_len + 1; tile-- > 0;) {
      const std::span<const PageId> pages = pages_of(plan, plan.task_pages, row, tile);
      const uint32_t end = std::min((tile + 1) * tile_len, plan.positions[row]);
      for (uint32_t pos = end; pos-- > tile * tile_len;) {
        const uint32_t page = pos % tile_len / page_len;
        if (page >= pages.size()) throw std::runtime_error("a row does not meet its past");
        const uint64_t found = cells_.at({pages[page], pos % page_len});
        if (past == 0) past = expected = found;
        if (found != expected) throw std::runtime_error("a row meets another row's past");
        expected = past_of_path_.at(found);
      }
    }
    if (expected != 0) throw std::runtime_error("a row's past begins too late");
    return past;
  }

  // Whatever a row's window sees must be in window pages, and the rest of its first tile.
  void follow_windows(const StepPlan& plan) {
    const auto tile_len = static_cast<uint32_t>(facts_.tile_len);
    const auto page_len = static_cast<uint32_t>(facts_.page_len);
    for (const PageCopy& copy : plan.windows.copies)
      for (uint32_t i = 0; i < copy.n_positions; ++i)
        window_cells_[{copy.to, i}] = window_cells_[{copy.from, i}];
    for (uint32_t row = 0; row < plan.n_rows(); ++row)
      for (uint32_t i = plan.windows.slot_begin[row]; i < plan.windows.slot_begin[row + 1]; ++i) {
        const KvSlot& slot = plan.windows.slots[i];
        if (slot.page >= facts_.n_window_pages) throw std::runtime_error("no such window page");
        window_cells_[{slot.page, slot.offset}] = paths_[row];
      }
    for (uint32_t row = 0; row < plan.n_rows(); ++row) {
      const uint32_t pos = plan.positions[row];
      const uint32_t first = (pos + 1 - std::min(pos + 1, facts_.window)) / tile_len;
      uint64_t expected = paths_[row];
      for (uint32_t tile = pos / tile_len + 1; tile-- > first;) {
        const std::span<const PageId> pages = pages_of(plan, plan.windows.task_pages, row, tile);
        for (uint32_t at = std::min((tile + 1) * tile_len - 1, pos) + 1; at-- > tile * tile_len;) {
          const PageId page = pages[at % tile_len / page_len];
          const auto found = window_cells_.find({page, at % page_len});
          if (found == window_cells_.end() || found->second != expected)
            throw std::runtime_error("a row's window does not hold its past");
          expected = past_of_path_.at(expected);
        }
      }
    }
  }

  // A slot holds the path whose state it is.
  void follow_states(const StepPlan& plan) {
    auto write = plan.state_writes.begin();
    uint32_t row = 0;
    for (const StateTask& task : plan.state_tasks) {
      if (task.row_begin != row) throw std::runtime_error("a row has no state task, or two");
      uint64_t state = task.from == kNoStateSlot ? 0 : states_.at(task.from);
      for (; row < task.row_end; ++row) {
        if (state != pasts_[row]) throw std::runtime_error("a row gets another path's state");
        state = paths_[row];
        if (write == plan.state_writes.end() || write->row != row) continue;
        if (write->to >= facts_.n_slots) throw std::runtime_error("there is no such slot");
        states_[write->to] = state;
        ++write;
      }
    }
    if (row != plan.n_rows() || write != plan.state_writes.end())
      throw std::runtime_error("the state tasks do not cover the step");
  }

  // In [-4, 4).
  static float value(uint64_t path, int of) {
    const uint64_t bits = mix64(path ^ mix64(static_cast<uint64_t>(of)));
    return static_cast<float>(bits >> 40) * 0x1p-21f - 4;
  }

  ExecutorFacts facts_;
  size_t fail_each_, refused_, n_submitted_ = 0;
  std::vector<StepPlan> plans_;
  size_t n_finished_ = 0, n_overlapping_ = 0;
  std::map<std::pair<PageId, uint32_t>, uint64_t> cells_;  // paths by page and offset
  std::unordered_map<uint64_t, uint64_t> past_of_path_;    // without the last token
  std::vector<uint64_t> paths_;                            // [rows of the last step]
  std::vector<uint64_t> pasts_;                            // of these, without their token
  std::map<std::pair<PageId, uint32_t>, uint64_t> window_cells_;
  std::map<StateSlot, uint64_t> states_;  // paths by slot
  std::vector<float> hidden_;             // [outputs, d_model]
};

}  // namespace pando::testing
