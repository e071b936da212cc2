// Mixtures of experts: the router's choice, the experts of each row, the shared expert.
#include <algorithm>
#include <cmath>

#include "exec/scalar/feed_forward.h"
#include "exec/scalar/math.h"
#include "exec/scalar/router.h"

namespace pando::exec::scalar {
namespace {

// RMSNorm of each row by the weights of a role; the rows `otherwise` if there are none.
Rows normed_or(const model::ModelSpec& spec, const Values& norm, const Rows& x,
               const Rows& otherwise) {
  if (norm.empty()) return otherwise;
  Rows y(x.n, x.width);
  for (uint32_t row = 0; row < x.n; ++row)
    rms_norm(x.row(row), norm.data(), spec.rms_eps, spec.d_model, y.row(row));
  return y;
}

using Choice = std::vector<std::vector<ChosenExpert>>;  // [n_rows]

Choice choose(const model::ModelSpec& spec, const LayerWeights& layer, const Rows& x, const Rows& h,
              ThreadPool& pool) {
  const Values& norm = layer.values(Role::kRouterNorm);
  Rows routed = normed_or(spec, norm, x, h);
  const auto factor = static_cast<float>(1.0 / std::sqrt(static_cast<double>(spec.d_model)));
  if (!norm.empty()) scale(routed.values.data(), factor, routed.values.size());
  const Rows logits = multiply(layer.matrix(Role::kRouter), routed, pool);
  Choice chosen;
  for (uint32_t row = 0; row < h.n; ++row)
    chosen.push_back(
        choose_experts(spec.experts, layer, {logits.row(row), logits.row(row) + logits.width}));
  return chosen;
}

// Adds the outputs of an expert to the sums of the rows that chose it.
void add_expert(const model::ModelSpec& spec, const LayerWeights& layer, int expert,
                const Choice& chosen, const Rows& h, ThreadPool& pool, Rows& sums) {
  std::vector<std::pair<uint32_t, float>> own;  // rows and weights
  for (uint32_t row = 0; row < h.n; ++row)
    for (const ChosenExpert& one : chosen[row])
      if (one.expert == expert) own.emplace_back(row, one.weight);
  if (own.empty()) return;
  Rows x(static_cast<uint32_t>(own.size()), h.width);
  for (uint32_t i = 0; i < x.n; ++i) std::copy_n(h.row(own[i].first), h.width, x.row(i));
  const WeightSet& weights = layer.experts[expert];
  Rows y = feed_forward(spec, weights, kExpertRoles, x, pool);
  const Values& bias = weights.values(Role::kExpertDownBias);
  for (uint32_t i = 0; i < y.n; ++i) {
    add(y.row(i), bias.data(), bias.size());
    scale(y.row(i), own[i].second, y.width);
    add(sums.row(own[i].first), y.row(i), y.width);
  }
}

void add_shared_expert(const model::ModelSpec& spec, const LayerWeights& layer, const Rows& h,
                       ThreadPool& pool, Rows& sums) {
  const Rows out = feed_forward(spec, layer, kDenseRoles, h, pool);
  Rows y = normed_or(spec, layer.values(Role::kSharedSumNorm), out, out);
  const Values& gate = layer.values(Role::kSharedGate);
  for (uint32_t row = 0; row < h.n; ++row) {
    if (!gate.empty())
      scale(y.row(row), sigmoid(dot16(h.row(row), gate.data(), spec.d_model)), y.width);
    add(sums.row(row), y.row(row), y.width);
  }
}

}  // namespace

Rows mixture(const model::ModelSpec& spec, const LayerWeights& layer, const Rows& x, const Rows& h,
             ThreadPool& pool) {
  const Choice chosen = choose(spec, layer, x, h, pool);
  const Rows of_experts = normed_or(spec, layer.values(Role::kExpertsNorm), x, h);
  Rows sums(h.n, h.width);
  for (int expert = 0; expert < spec.experts.n_experts; ++expert)
    add_expert(spec, layer, expert, chosen, of_experts, pool, sums);
  sums = normed_or(spec, layer.values(Role::kExpertsSumNorm), sums, sums);
  if (!layer.stack(Role::kGateUp).empty()) add_shared_expert(spec, layer, h, pool, sums);
  return sums;
}

}  // namespace pando::exec::scalar
