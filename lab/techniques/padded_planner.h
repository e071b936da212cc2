// Padded batches: the library baseline of Prepacking (4.1) and IPPD (B.3).
#pragma once

#include <algorithm>

#include "lab/techniques/pass_executor.h"
#include "lab/techniques/relayout.h"
#include "lab/techniques/static_batcher.h"
#include "lab/techniques/techniques.h"
#include "plan/attention_tasks.h"

namespace pando::lab {

// Prompts of a batch are padded on the left to the longest (IPPD 4.4) and attended to as a
// rectangle, under a dense mask. Every pad is computed, and so is a row for every answer of the
// batch that has ended, until the last answer has.
class PaddedPlanner final : public MaskedPlanner {
 public:
  PaddedPlanner(std::string_view name, int tile_len) : name_(name), tile_len_(tile_len) {}

  std::string_view name() const override { return name_; }
  bool shares_tokens() const override { return false; }

  PlannedStep plan(const KvCache& cache, const std::vector<WantedOutput>& wanted) override {
    RowLayout layout = lay_out_rows(cache, wanted);
    append_attention_tasks(layout, cache.page_len(), tile_len_, TaskSharing::kAcrossSequences);
    const PathsOfStep paths = paths_of(layout);
    if (!paths.prompts.empty()) {
      ++n_batches_;
      n_in_batch_ = paths.prompts.size() + paths.others.size();
    }
    uint32_t longest = 0;
    for (const PathRows& path : paths.prompts) longest = std::max(longest, path.n_rows());

    std::vector<uint32_t> order;
    for (const PathRows& path : paths.prompts) {
      order.insert(order.end(), longest - path.n_rows(), kPad);
      for (uint32_t row = path.begin; row < path.end; ++row) order.push_back(row);
    }
    const auto n_masked = static_cast<uint32_t>(order.size());
    for (const PathRows& path : paths.others)
      for (uint32_t row = path.begin; row < path.end; ++row) order.push_back(row);
    const size_t n_live = paths.prompts.size() + paths.others.size();
    if (paths.prompts.empty() && n_live < n_in_batch_)  // answers that have ended
      order.insert(order.end(), n_in_batch_ - n_live, kPad);
    n_rows_ += order.size();
    MaskedRows& masked = pass_->rows = {};
    masked.n_idle = relayout(layout.step, order, n_masked);
    n_pads_ += layout.step.n_pads;

    const StepPlan& plan = layout.step.plan;
    std::vector<uint32_t> seen_from(longest);
    for (size_t i = 0; i < paths.prompts.size(); ++i) {
      const uint32_t n_pads = longest - paths.prompts[i].n_rows();
      for (uint32_t row = 0; row < longest; ++row) seen_from[row] = row < n_pads ? row : n_pads;
      add_stack(masked, seen_from, std::span(plan.positions).subspan(i * longest, longest),
                cache.page_len(), tile_len_);
    }
    return std::move(layout.step);
  }

  std::vector<Figure> figures() const {
    return {{"batches", static_cast<double>(n_batches_)},
            {"rows computed", static_cast<double>(n_rows_)},
            {"pads of them", static_cast<double>(n_pads_)}};
  }

 private:
  std::string_view name_;
  int tile_len_;
  size_t n_in_batch_ = 0;
  uint64_t n_batches_ = 0, n_rows_ = 0, n_pads_ = 0;
};

inline Technique padded_batches(const char* name, StaticBatching::Order order,
                                TechniqueOptions& options, int tile_len) {
  const StaticBatching batching{.n_rows = options.count("rows", 16384),
                                .n_sequences = options.count("batch", 16),
                                .order = order,
                                .shape = StaticBatching::Shape::kRectangle};
  auto planner = std::make_unique<PaddedPlanner>(name, tile_len);
  auto attention = planner->attention();
  const auto* const counts = planner.get();
  return {.planner = std::move(planner),
          .batcher = std::make_unique<StaticBatcher>(batching),
          .executor = pass_executor(
              {.attention = std::move(attention), .caps_scores = false, .takes_sinks = false}),
          .exact = false,
          .figures = [counts] { return counts->figures(); }};
}

}  // namespace pando::lab
