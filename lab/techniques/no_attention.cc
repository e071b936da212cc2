// `no_attention`: the rows of `tree` without any attention: Hydragen's ceiling of throughput (4.1).
// Projections are computed, keys and values are written. The output is wrong, and said to be.
#include <algorithm>

#include "lab/techniques/pass_executor.h"
#include "lab/techniques/techniques.h"
#include "plan/row_layout.h"

namespace pando::lab {
namespace {

class NoAttentionPlanner final : public Planner {
 public:
  std::string_view name() const override { return "no_attention"; }
  bool shares_tokens() const override { return true; }
  PlannedStep plan(const KvCache& cache, const std::vector<WantedOutput>& wanted) override {
    return lay_out_rows(cache, wanted).step;
  }
};

void attend_to_nothing(const exec::LayerPass& layer) {
  const kernel::AttentionArgs& args = layer.args;
  const size_t q_dim = static_cast<size_t>(args.n_heads) * args.kv.shape.head_dim;
  std::fill_n(args.out, layer.plan.n_rows() * q_dim, 0.0f);
}

}  // namespace

Technique no_attention_technique(TechniqueOptions&, int) {
  return {.planner = std::make_unique<NoAttentionPlanner>(),
          .executor = pass_executor({.attention = attend_to_nothing}),
          .exact = false,
          .warning = "computed without attention"};
}

}  // namespace pando::lab
