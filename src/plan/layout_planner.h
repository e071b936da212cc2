// Base of the exact planners: the common row layout, and tasks over its page tables.
#pragma once

#include "plan/attention_tasks.h"
#include "plan/state_tasks.h"
#include "plan/window_lists.h"

namespace pando {

class LayoutPlanner final : public Planner {
 public:
  LayoutPlanner(std::string_view name, bool shares_tokens, TaskSharing sharing, int tile_len)
      : name_(name), shares_tokens_(shares_tokens), sharing_(sharing), tile_len_(tile_len) {}

  std::string_view name() const override { return name_; }
  bool shares_tokens() const override { return shares_tokens_; }
  PlannedStep plan(const KvCache& cache, const std::vector<WantedOutput>& wanted) override {
    RowLayout layout = lay_out_rows(cache, wanted);
    append_attention_tasks(layout, cache.page_len(), tile_len_, sharing_);
    if (cache.places().any()) append_state_tasks(layout, cache.places());
    if (cache.windows().any()) list_windows(layout, cache, wanted);
    return std::move(layout.step);
  }

 private:
  std::string_view name_;
  bool shares_tokens_;
  TaskSharing sharing_;
  int tile_len_;
};

}  // namespace pando
