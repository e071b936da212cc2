// `no_attention`: the rows of `tree` without any attention: Hydragen's ceiling of throughput (4.1).
// Projections are computed, keys and values are written. The output is wrong, and said to be.
#include "plan/row_layout.h"

namespace pando {
namespace {

class NoAttentionPlanner final : public Planner {
 public:
  std::string_view name() const override { return "no_attention"; }
  bool shares_tokens() const override { return true; }
  bool exact() const override { return false; }
  bool wrong() const override { return true; }
  PlannedStep plan(const KvCache& cache, const std::vector<WantedOutput>& wanted) override {
    PlannedStep step = lay_out_rows(cache, wanted).step;
    step.plan.skips_attention = true;
    return step;
  }
};

}  // namespace

std::unique_ptr<Planner> make_no_attention_planner(int) {
  return std::make_unique<NoAttentionPlanner>();
}

}  // namespace pando
