#include "exec/scalar/forward_pass.h"

#include <algorithm>

#include "base/check.h"
#include "exec/scalar/feed_forward.h"
#include "exec/scalar/layer_inputs.h"
#include "exec/scalar/math.h"
#include "exec/scalar/pages.h"
#include "exec/scalar/recurrent.h"
#include "exec/share.h"

namespace pando::exec::scalar {

using model::FeedForward;
using model::Mixer;

ForwardPass::ForwardPass(const Weights& weights, const KvOptions& options, ThreadPool& pool)
    : weights_(weights),
      spec_(spec_of_share(weights.spec, weights.share)),
      first_layer_(layers_of_share(weights.spec, weights.share).first),
      pool_(pool),
      attention_(spec_, options, pool),
      state_layout_(spec_) {}

Rows ForwardPass::forward(const StepPlan& plan, const KvViews& kv, const StateMemory& states,
                          const float* before) const {
  PANDO_CHECK((before == nullptr) == weights_.share.is_first());
  for (const kernel::KvView& group : kv.pages) copy_positions(group, plan.copies);
  for (const kernel::KvView& group : kv.windows) copy_positions(group, plan.windows.copies);
  Rows x = before == nullptr ? embed(plan.tokens) : rows_before(before, plan.n_rows());
  const auto dim = static_cast<size_t>(spec_.layer_input_dim);
  const Rows inputs = dim == 0 ? Rows()
                               : layer_inputs(weights_, plan.tokens,
                                              before == nullptr ? x : embed(plan.tokens), pool_);
  for (int i = 0; i < spec_.n_layers(); ++i) {
    const LayerWeights& layer = weights_.layers[i];
    const Rows h = norm_rows(spec_, layer.values(Role::kAttentionNorm), x, pool_);
    finish_layer(i, mix(i, plan, kv, states, h), x);
    if (dim > 0)
      add_part({}, layer.values(Role::kInputSumNorm),
               gated_inputs(layer, x, inputs, (first_layer_ + i) * dim, pool_), x);
    const Values& factor = layer.values(Role::kScale);
    if (!factor.empty()) scale(x.values.data(), factor[0], x.values.size());
  }
  if (!weights_.share.is_last()) return x;
  Rows outputs(static_cast<uint32_t>(plan.outputs.size()), x.width);
  const Values& norm = weights_.ends.values(Role::kFinalNorm);
  for (uint32_t i = 0; i < outputs.n; ++i)
    norm_row(spec_, norm, x.row(plan.outputs[i]), outputs.row(i));
  return outputs;
}

Rows ForwardPass::rows_before(const float* before, uint32_t n) const {
  Rows x(n, static_cast<size_t>(spec_.d_model));
  std::copy_n(before, x.values.size(), x.values.data());
  return x;
}

Rows ForwardPass::embed(std::span<const Token> tokens) const {
  Rows x(static_cast<uint32_t>(tokens.size()), static_cast<size_t>(spec_.d_model));
  each_row(pool_, x.n, [&](uint32_t row) {
    const Values own = weights_.table_row(Role::kEmbedding, tokens[row]);
    std::ranges::copy(own, x.row(row));
    scale(x.row(row), spec_.embedding_scale, x.width);
  });
  return x;
}

Rows ForwardPass::mix(int layer, const StepPlan& plan, const KvViews& kv, const StateMemory& states,
                      const Rows& h) const {
  const LayerWeights& weights = weights_.layers[layer];
  switch (spec_.layers[layer].mixer) {
    case Mixer::kNone:
      break;
    case Mixer::kAttention: {
      const Rows queries = attention_.write(layer, weights, plan, kv, h);
      return attention_.attend(layer, weights, plan, kv, queries, {});
    }
    case Mixer::kDeltaNet:
    case Mixer::kShortConv:
    case Mixer::kMamba2:
      return recur(spec_, layer, weights, plan, state_layout_.view(states, layer), h, pool_);
  }
  return {};
}

void ForwardPass::finish_layer(int layer, const Rows& mixed, Rows& x) const {
  const LayerWeights& weights = weights_.layers[layer];
  const model::LayerConfig& kind = spec_.layers[layer];
  const Values& own_norm = weights.values(Role::kFeedForwardNorm);
  const bool reads_same_norm = spec_.parallel && own_norm.empty();
  const Values& norm = reads_same_norm ? weights.values(Role::kAttentionNorm) : own_norm;
  const Rows before = spec_.parallel ? norm_rows(spec_, norm, x, pool_) : Rows();
  if (kind.mixer != Mixer::kNone)
    add_part(weights.values(Role::kOBias), weights.values(Role::kAttentionSumNorm),
             multiply(weights.matrix(Role::kO), mixed, pool_), x);
  if (kind.feed_forward == FeedForward::kNone) return;
  const Rows h = spec_.parallel ? before : norm_rows(spec_, norm, x, pool_);
  add_part(weights.values(Role::kDownBias), weights.values(Role::kFeedForwardSumNorm),
           kind.feed_forward == FeedForward::kDense
               ? feed_forward(spec_, weights, kDenseRoles, h, pool_)
               : mixture(spec_, weights, x, h, pool_),
           x);
}

void ForwardPass::add_part(std::span<const float> bias, std::span<const float> norm, Rows y,
                           Rows& x) const {
  each_row(pool_, x.n, [&](uint32_t row) {
    float *const from = y.row(row), *const to = x.row(row);
    add(from, bias.data(), bias.size());
    if (!spec_.post_norm) norm_row(spec_, norm, from, from);
    scale(from, spec_.residual_scale, y.width);
    add(to, from, y.width);
    if (spec_.post_norm) norm_row(spec_, norm, to, to);
  });
}

void ForwardPass::logits(const float* hidden, uint32_t n, float* out) const {
  const Stack& head = weights_.ends.stack(Role::kHead);
  if (head.empty()) return;
  Rows y = multiply(head, rows_before(hidden, n), pool_);
  const Values& bias = weights_.ends.values(Role::kHeadBias);
  each_row(pool_, n, [&](uint32_t row) {
    float* const logits = y.row(row);
    add(logits, bias.data(), bias.size());
    for (size_t i = 0; i < y.width; ++i) {
      logits[i] = logits[i] / spec_.logit_divisor * spec_.logit_scale;
      if (spec_.logit_cap > 0.0f) logits[i] = soft_cap(logits[i], spec_.logit_cap);
    }
  });
  std::ranges::copy(y.values, out);
}

}  // namespace pando::exec::scalar
