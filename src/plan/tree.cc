// `tree`: every distinct (path, token) is one row, every shared tile is met once by all rows below it,
// at every level, prefill and decode mixed. IPPD, Hydragen, Prepacking and RadixMLP in one.
#include "plan/attention_tasks.h"

namespace pando {
namespace {

class TreePlanner final : public Planner {
 public:
  explicit TreePlanner(int tile_len) : tile_len_(tile_len) {}
  std::string_view name() const override { return "tree"; }
  bool shares_tokens() const override { return true; }

  PlannedStep plan(const KvCache& cache, const std::vector<WantedOutput>& wanted) const override {
    RowLayout layout = lay_out_rows(cache, wanted);
    append_attention_tasks(layout, cache.page_len(), tile_len_, TaskSharing::kAcrossSequences);
    return std::move(layout.step);
  }

 private:
  int tile_len_;
};

}  // namespace

std::unique_ptr<Planner> make_tree_planner(int tile_len) { return std::make_unique<TreePlanner>(tile_len); }

}  // namespace pando
