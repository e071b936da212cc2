// `prefix_cached`: shared tokens are computed and stored once, and read again by every sequence that
// attends to them: paged attention with prefix caching, the baseline of IPPD 5 and Hydragen 4.
#include "plan/attention_tasks.h"

namespace pando {
namespace {

class PrefixCachedPlanner final : public Planner {
 public:
  explicit PrefixCachedPlanner(int tile_len) : tile_len_(tile_len) {}
  std::string_view name() const override { return "prefix_cached"; }
  bool shares_tokens() const override { return true; }

  PlannedStep plan(const KvCache& cache, const std::vector<WantedOutput>& wanted) const override {
    RowLayout layout = lay_out_rows(cache, wanted);
    append_attention_tasks(layout, cache.page_len(), tile_len_, TaskSharing::kWithinSequence);
    return std::move(layout.step);
  }

 private:
  int tile_len_;
};

}  // namespace

std::unique_ptr<Planner> make_prefix_cached_planner(int tile_len) { return std::make_unique<PrefixCachedPlanner>(tile_len); }

}  // namespace pando
