// `radix`: RadixMLP as published. Sequences share nothing between steps. Within a step, tokens with
// equal pasts are one row of position-wise work (sections 3.1 and 3.2); attention has a row for
// every copy, each with keys and values of its own (3.4, algorithm 1). Bypassed where too little
// repeats (5.2). Maps are made on the engine's thread, not beside the pass before (3.3, where they
// take three orders of magnitude less than a pass; lab/docs/planners.md has what they take here).
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lab/techniques/expanded_pass.h"
#include "lab/techniques/pass_executor.h"
#include "lab/techniques/prefix_index.h"
#include "lab/techniques/relayout.h"
#include "lab/techniques/static_batcher.h"
#include "lab/techniques/techniques.h"
#include "plan/attention_tasks.h"

namespace pando::lab {
namespace {

constexpr uint32_t kMostPositions = 1 << 22, kMostKeys = 1 << 10;

struct RadixOptions {
  double threshold;  // N'/N above which the technique is bypassed; 0: switched off
  uint32_t bucket;   // compact rows are filled up to a multiple of it (B.5)
  uint32_t n_rows;   // tokens of a step at most, all copies counted
  bool stateless;    // keys and values of one layer only are kept, and only in the pass (5.1)
};

class RadixPlanner final : public ExpandedPlanner {
 public:
  RadixPlanner(const RadixOptions& options, int tile_len)
      : options_(options), tile_len_(tile_len) {}

  std::string_view name() const override { return "radix"; }
  bool shares_tokens() const override { return false; }

  PlannedStep plan(const KvCache& cache, const std::vector<WantedOutput>& wanted) override {
    RowLayout layout = lay_out_rows(cache, wanted);
    append_attention_tasks(layout, cache.page_len(), tile_len_, TaskSharing::kAcrossSequences);
    *expanded_ = {};
    if (index_rows(layout, wanted)) compact(layout.step);
    return std::move(layout.step);
  }

  std::vector<Figure> figures() const {
    return {{"steps with prompts", static_cast<double>(n_steps_)},
            {"bypassed", static_cast<double>(n_bypassed_)},
            {"tokens N", static_cast<double>(n_tokens_)},
            {"compact rows N'", static_cast<double>(n_compact_)}};
  }

 private:
  // The maps of the step: gather_ (the token that stands for a row) and scatter_. False where the
  // step is to stay as it is.
  bool index_rows(const RowLayout& layout, const std::vector<WantedOutput>& wanted) {
    collect(layout, wanted);
    if (ids_.empty()) return false;
    const PrefixIndex& index = indexer_.build(ids_, positions_, cu_seq_lens_);
    const uint32_t n = layout.step.plan.n_rows();
    const size_t n_compact = index.gather.size() + others_.size();
    const bool bypassed = static_cast<double>(filled_up(n_compact)) > options_.threshold * n;
    ++n_steps_;
    n_tokens_ += n;
    n_bypassed_ += bypassed ? 1 : 0;
    n_compact_ += bypassed ? n : n_compact;
    if (!bypassed) map_rows(index, n);
    return !bypassed;
  }

  // Sequences that begin in this step, as the indexer takes them, and all other rows.
  void collect(const RowLayout& layout, const std::vector<WantedOutput>& wanted) {
    std::map<const Node*, uint64_t> keys;  // of isolation, by root
    for (const WantedOutput& want : wanted) keys[root_of(want.tip)] = want.isolation_key;
    std::map<uint64_t, uint32_t> ordinals;
    const StepPlan& plan = layout.step.plan;
    ids_.clear();
    positions_.clear();
    row_of_.clear();
    others_.clear();
    cu_seq_lens_.assign(1, 0);
    const auto append_rows = [](std::vector<uint32_t>& rows, const PathRows& path) {
      for (uint32_t row = path.begin; row < path.end; ++row) rows.push_back(row);
    };
    const PathsOfStep paths = paths_of(layout);
    for (const PathRows& path : paths.prompts) {
      const auto key = keys.find(root_of(path.tip));
      const uint32_t ordinal =
          key == keys.end() ? kMostKeys
                            : ordinals.try_emplace(key->second, ordinals.size()).first->second;
      const bool fits = path.n_rows() <= kMostPositions && ordinal < kMostKeys;
      append_rows(fits ? row_of_ : others_, path);
      if (!fits) continue;
      ids_.insert(ids_.end(), plan.tokens.begin() + path.begin, plan.tokens.begin() + path.end);
      // Tokens of another key are tokens at other positions.
      for (uint32_t row = path.begin; row < path.end; ++row)
        positions_.push_back(plan.positions[row] + ordinal * kMostPositions);
      cu_seq_lens_.push_back(static_cast<uint32_t>(ids_.size()));
    }
    // Paths that go on from an earlier step have a past that this one does not see.
    for (const PathRows& path : paths.others) append_rows(others_, path);
  }

  // From the indexer's tokens to the step's n rows.
  void map_rows(const PrefixIndex& index, uint32_t n) {
    gather_.clear();
    scatter_.resize(n);
    for (const uint32_t token : index.gather) gather_.push_back(row_of_[token]);
    for (size_t i = 0; i < row_of_.size(); ++i) scatter_[row_of_[i]] = index.scatter[i];
    for (const uint32_t row : others_) {
      scatter_[row] = static_cast<uint32_t>(gather_.size());
      gather_.push_back(row);
    }
  }

  // To a multiple of the bucket.
  size_t filled_up(size_t n_compact) const {
    const size_t bucket = std::max(options_.bucket, 1u);
    return (n_compact + bucket - 1) / bucket * bucket;
  }

  // Position-wise work goes to the compact rows, attention stays with all of them.
  void compact(PlannedStep& step) {
    StepPlan& plan = step.plan;
    const uint32_t n_copies = plan.n_rows(), n_compact = static_cast<uint32_t>(gather_.size());
    const auto n_rows = static_cast<uint32_t>(filled_up(n_compact));
    gather_.resize(n_rows, gather_[0]);

    const StepPlan all = std::move(plan);
    plan = {};
    for (const uint32_t copy : gather_) {
      plan.tokens.push_back(all.tokens[copy]);
      plan.positions.push_back(all.positions[copy]);
    }
    // A row writes the slots of all its copies: the scatter of keys and values.
    plan.slot_begin.assign(n_rows + 1, 0);
    for (uint32_t copy = 0; copy < n_copies; ++copy)
      plan.slot_begin[scatter_[copy] + 1] += all.slot_begin[copy + 1] - all.slot_begin[copy];
    for (uint32_t row = 0; row < n_rows; ++row) plan.slot_begin[row + 1] += plan.slot_begin[row];
    plan.slots.resize(all.slots.size());
    std::vector<uint32_t> next(plan.slot_begin.begin(), plan.slot_begin.end() - 1);
    for (uint32_t copy = 0; copy < n_copies; ++copy)
      for (uint32_t i = all.slot_begin[copy]; i < all.slot_begin[copy + 1]; ++i)
        plan.slots[next[scatter_[copy]]++] = all.slots[i];

    plan.copies = all.copies;
    plan.tasks = all.tasks;
    plan.task_pages = all.task_pages;
    *expanded_ = {scatter_, all.positions, gather_};

    for (uint32_t& output : step.output_of) output = scatter_[all.outputs[output]];
    list_outputs(step);
    step.n_pads = n_rows - n_compact;
  }

  RadixOptions options_;
  int tile_len_;
  PrefixIndexer indexer_;
  std::vector<Token> ids_;  // of sequences that begin in this step
  std::vector<uint32_t> positions_, cu_seq_lens_;
  std::vector<uint32_t> row_of_, others_;  // rows of these, and the others
  std::vector<uint32_t> gather_, scatter_;
  uint64_t n_steps_ = 0, n_bypassed_ = 0, n_tokens_ = 0, n_compact_ = 0;
};

}  // namespace

Technique radix_technique(TechniqueOptions& options, int tile_len) {
  const RadixOptions radix{
      .threshold = options.number("threshold", 0.95, 0, 1),
      .bucket = options.count("bucket", 1),
      .n_rows = options.count("rows", 16384),
      .stateless = options.flag("stateless"),
  };
  if (radix.bucket > radix.n_rows)
    options.fail("bucket", fmt::format("{}", radix.bucket),
                 fmt::format("at most the rows of a step (rows={})", radix.n_rows));
  auto planner = std::make_unique<RadixPlanner>(radix, tile_len);
  auto attention = planner->attention();
  const auto* const counts = planner.get();
  return {
      .planner = std::move(planner),
      .batcher = std::make_unique<StaticBatcher>(StaticBatching{.n_rows = radix.n_rows}),
      .executor = pass_executor({.attention = std::move(attention), .one_layer = radix.stateless}),
      .figures = [counts] { return counts->figures(); }};
}

}  // namespace pando::lab
