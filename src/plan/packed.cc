// `packed`: ragged rows, nothing shared. Each sequence has a tree of its own, so that the common
// layout finds nothing to share; positions restart with each sequence (Prepacking, section 3.2).
#include "plan/attention_tasks.h"

namespace pando {
namespace {

class PackedPlanner final : public Planner {
 public:
  explicit PackedPlanner(int tile_len) : tile_len_(tile_len) {}
  std::string_view name() const override { return "packed"; }
  bool shares_tokens() const override { return false; }

  PlannedStep plan(const KvCache& cache, const std::vector<WantedOutput>& wanted) const override {
    RowLayout layout = lay_out_rows(cache, wanted);
    append_attention_tasks(layout, cache.page_len(), tile_len_, TaskSharing::kAcrossSequences);
    return std::move(layout.step);
  }

 private:
  int tile_len_;
};

}  // namespace

std::unique_ptr<Planner> make_packed_planner(int tile_len) { return std::make_unique<PackedPlanner>(tile_len); }

}  // namespace pando
