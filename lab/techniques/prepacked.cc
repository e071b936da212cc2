// `prepacked`: Prepacking. The k prompts of a batch go into r bins of the longest one's length m,
// by first fit decreasing (section 3.1), with positions that restart and prompts that do not see
// each other (3.2); their keys and values go to caches of their own (algorithm 1, UNPACK), from
// which answers go on as usual. `dense` computes bins as published, r x m rows under a dense mask,
// pads included; otherwise rows are ragged, and bins are what is reported. The first answer token
// comes out of the pass itself, whatever the length of the prompt.
#include <algorithm>

#include "lab/techniques/bin_packing.h"
#include "lab/techniques/pass_executor.h"
#include "lab/techniques/relayout.h"
#include "lab/techniques/static_batcher.h"
#include "lab/techniques/techniques.h"
#include "plan/attention_tasks.h"

namespace pando::lab {
namespace {

using Bins = std::vector<std::vector<uint32_t>>;  // indices of prompts

class PrepackedPlanner final : public MaskedPlanner {
 public:
  PrepackedPlanner(bool dense, int tile_len) : dense_(dense), tile_len_(tile_len) {}

  std::string_view name() const override { return "prepacked"; }
  bool shares_tokens() const override { return false; }

  PlannedStep plan(const KvCache& cache, const std::vector<WantedOutput>& wanted) override {
    RowLayout layout = lay_out_rows(cache, wanted);
    append_attention_tasks(layout, cache.page_len(), tile_len_, TaskSharing::kAcrossSequences);
    const PathsOfStep paths = paths_of(layout);
    pass_->rows = {};
    if (paths.prompts.empty()) return std::move(layout.step);
    std::vector<uint32_t> lengths;
    for (const PathRows& path : paths.prompts) lengths.push_back(path.n_rows());
    const uint32_t longest = std::ranges::max(lengths);
    const Bins bins = first_fit_decreasing(lengths, longest);
    if (dense_) lay_out_bins(layout.step, paths, bins, longest, cache.page_len());
    count(lengths, longest, bins.size());
    return std::move(layout.step);
  }

  // Gives figures of all batches: what the paper predicts the speed from (3.3, K), over `padded`.
  std::vector<Figure> figures() const {
    const double n = std::max<double>(n_batches_, 1), rectangle = std::max<double>(padded_, 1);
    return {{"batches", static_cast<double>(n_batches_)},
            {"prompts k", static_cast<double>(n_prompts_)},
            {"bins r", static_cast<double>(n_bins_)},
            {"r/k", static_cast<double>(n_bins_) / std::max<double>(n_prompts_, 1)},
            {"m - L/k, mean", deviation_ / n},
            {"tokens computed", static_cast<double>(computed_)},
            {"tokens of padded batches", static_cast<double>(padded_)},
            {"predicted speed-up of prefill", rectangle / std::max<double>(computed_, 1)}};
  }

 private:
  void lay_out_bins(PlannedStep& step, const PathsOfStep& paths, const Bins& bins, uint32_t longest,
                    int page_len) const {
    std::vector<uint32_t> order, seen_from;  // of rows, of rows in their bins
    for (const std::vector<uint32_t>& bin : bins) {
      const size_t begin = order.size();
      for (const uint32_t prompt : bin) {
        const PathRows& path = paths.prompts[prompt];
        seen_from.insert(seen_from.end(), path.n_rows(),
                         static_cast<uint32_t>(order.size() - begin));
        for (uint32_t row = path.begin; row < path.end; ++row) order.push_back(row);
      }
      for (; order.size() < begin + longest; order.push_back(kPad))
        seen_from.push_back(static_cast<uint32_t>(order.size() - begin));
    }
    const auto n_masked = static_cast<uint32_t>(order.size());
    for (const PathRows& path : paths.others)
      for (uint32_t row = path.begin; row < path.end; ++row) order.push_back(row);
    pass_->rows.n_idle = relayout(step, order, n_masked);
    for (size_t bin = 0; bin < bins.size(); ++bin)
      add_stack(pass_->rows, std::span(seen_from).subspan(bin * longest, longest),
                std::span(step.plan.positions).subspan(bin * longest, longest), page_len,
                tile_len_);
  }

  void count(const std::vector<uint32_t>& lengths, uint64_t longest, size_t n_bins) {
    uint64_t sum = 0;
    for (const uint32_t length : lengths) sum += length;
    ++n_batches_;
    n_prompts_ += lengths.size();
    n_bins_ += n_bins;
    deviation_ += static_cast<double>(longest) -
                  static_cast<double>(sum) / static_cast<double>(lengths.size());
    computed_ += dense_ ? n_bins * longest : sum;
    padded_ += lengths.size() * longest;
  }

  bool dense_;
  int tile_len_;
  uint64_t n_batches_ = 0, n_prompts_ = 0, n_bins_ = 0, computed_ = 0, padded_ = 0;
  double deviation_ = 0;
};

}  // namespace

Technique prepacked_technique(TechniqueOptions& options, int tile_len) {
  using Order = StaticBatching::Order;
  using Shape = StaticBatching::Shape;
  const bool dense = options.flag("dense");
  const StaticBatching batching{.n_rows = options.count("rows", 16384),
                                .n_sequences = options.count("batch", 16),
                                .order = options.flag("dataset") ? Order::kBins : Order::kArrival,
                                .shape = dense ? Shape::kBins : Shape::kRagged};
  auto planner = std::make_unique<PrepackedPlanner>(dense, tile_len);
  auto attention = dense ? planner->attention() : exec::LayerAttention();
  const auto* const counts = planner.get();
  return {.planner = std::move(planner),
          .batcher = std::make_unique<StaticBatcher>(batching),
          .executor = pass_executor(
              {.attention = std::move(attention), .caps_scores = !dense, .takes_sinks = !dense}),
          .exact = !dense,
          .figures = [counts] { return counts->figures(); }};
}

}  // namespace pando::lab
