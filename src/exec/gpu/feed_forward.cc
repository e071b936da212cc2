#include "exec/gpu/feed_forward.h"

#include <cmath>
#include <numeric>

#include "exec/gpu/row_ops.h"

namespace pando::exec::gpu {

void FeedForwards::run(const WeightSet& weights, const scalar::FeedForwardRoles& roles,
                       const Rows& h, Rows& y) {
  products_.multiply(weights.stack(roles.gate_up), h, inner_);
  activate(host_, spec_, weights.values(roles.gate_up_bias), inner_, active_);
  products_.multiply(weights.stack(roles.down), active_, y);
}

const Rows& FeedForwards::normed_or(const Values& norm, const Rows& x, const Rows& otherwise,
                                    Rows& to) {
  if (norm.empty()) return otherwise;
  norm_rows_rms(host_, spec_.rms_eps, norm, x, to);
  return to;
}

// The processor chooses, because the choice decides which products follow.
FeedForwards::Choice FeedForwards::choose(const LayerWeights& layer,
                                          const scalar::LayerWeights& on_host, const Rows& x,
                                          const Rows& h) {
  const Values& norm = layer.values(Role::kRouterNorm);
  const Rows& routed = normed_or(norm, x, h, router_rows_);
  if (!norm.empty())
    scale_rows(host_, static_cast<float>(1.0 / std::sqrt(static_cast<double>(spec_.d_model))),
               router_rows_);
  products_.multiply(layer.stack(Role::kRouter), routed, router_logits_);
  const size_t width = router_logits_.width;
  std::vector<float> logits(h.n * width);
  host_.read(router_logits_.values, 0, logits.data(), logits.size() * sizeof(float));
  Choice chosen;
  for (auto row = logits.begin(); row != logits.end(); row += static_cast<ptrdiff_t>(width))
    chosen.push_back(scalar::choose_experts(spec_.experts, on_host,
                                            {row, row + static_cast<ptrdiff_t>(width)}));
  return chosen;
}

void FeedForwards::mix(const LayerWeights& layer, const scalar::LayerWeights& on_host,
                       const Rows& x, const Rows& h, Rows& sums) {
  const Choice chosen = choose(layer, on_host, x, h);
  std::vector<std::vector<uint32_t>> rows(layer.experts.size());  // of each expert
  std::vector<std::vector<float>> row_weights(layer.experts.size());
  for (uint32_t row = 0; row < h.n; ++row)
    for (const scalar::ChosenExpert& one : chosen[row]) {
      rows[one.expert].push_back(row);
      row_weights[one.expert].push_back(one.weight);
    }
  const Rows& of_experts = normed_or(layer.values(Role::kExpertsNorm), x, h, of_experts_);
  sums.resize(host_, h.n, h.width);
  host_.fill(sums.values, 0, 0, h.n * h.width * sizeof(float));
  for (size_t i = 0; i < rows.size(); ++i)
    if (!rows[i].empty()) add_expert(layer.experts[i], rows[i], row_weights[i], of_experts, sums);
  normed_or(layer.values(Role::kExpertsSumNorm), sums, sums, sums);
  if (!layer.stack(Role::kGateUp).empty()) add_shared_expert(layer, h, sums);
}

void FeedForwards::add_expert(const WeightSet& weights, const std::vector<uint32_t>& rows,
                              const std::vector<float>& row_weights, const Rows& h, Rows& sums) {
  rows_.set(host_, rows);
  row_weights_.set(host_, row_weights);
  gather_rows(host_, h, rows_.buffer(), static_cast<uint32_t>(rows.size()), expert_rows_);
  run(weights, scalar::kExpertRoles, expert_rows_, result_);
  add_weighted_rows(host_, result_, rows_.buffer(), row_weights_.buffer(),
                    weights.values(Role::kExpertDownBias), sums);
}

void FeedForwards::add_shared_expert(const LayerWeights& layer, const Rows& h, Rows& sums) {
  run(layer, scalar::kDenseRoles, h, result_);
  const Values& norm = layer.values(Role::kSharedSumNorm);
  if (!norm.empty()) norm_rows_rms(host_, spec_.rms_eps, norm, result_, result_);
  const Values& gate = layer.values(Role::kSharedGate);
  if (!gate.empty()) scale_by_gate(host_, h, gate, result_);
  std::vector<uint32_t> all(h.n);
  std::iota(all.begin(), all.end(), 0);
  rows_.set(host_, all);
  row_weights_.set(host_, std::vector<float>(h.n, 1.0f));
  add_weighted_rows(host_, result_, rows_.buffer(), row_weights_.buffer(), {}, sums);
}

}  // namespace pando::exec::gpu
