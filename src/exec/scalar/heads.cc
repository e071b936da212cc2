// Queries, keys and values of attention whose heads have keys and values of their own.
#include <algorithm>

#include "exec/scalar/math.h"
#include "exec/scalar/projections.h"

namespace pando::exec::scalar {
namespace {

using model::QkNorm;

// One row of queries, or of keys.
struct Part {
  int n_heads;
  const Values& norm;
  bool is_queries;
};

void norm_and_turn(const ProjectedLayer& layer, const Part& part, uint32_t pos, float* x) {
  const model::ModelSpec& spec = layer.spec;
  const int head_dim = spec.heads(layer.index).head_dim;
  const float eps = spec.rms_eps;
  if (spec.qk_norm == QkNorm::kFullWidth)
    rms_norm(x, part.norm.data(), eps, part.n_heads * head_dim, x);
  const int rotation = spec.layers[layer.index].rotation;
  const float growth = part.is_queries ? spec.rotations[rotation].query_factor(pos) : 1.0f;
  for (int head = 0; head < part.n_heads; ++head, x += head_dim) {
    if (spec.qk_norm == QkNorm::kPerHead) rms_norm(x, part.norm.data(), eps, head_dim, x);
    if (spec.qk_norm == QkNorm::kLayerPerHead)
      layer_norm(x, part.norm.data() + head * head_dim, eps, head_dim, x);
    layer.rotations.turn(layer.index, pos, x);
    if (spec.qk_norm == QkNorm::kPerHeadTurned) rms_norm(x, part.norm.data(), eps, head_dim, x);
    if (growth != 1.0f) scale(x, growth, head_dim);
  }
}

}  // namespace

Rows columns(const Rows& x, size_t first, size_t n) {
  Rows part(x.n, n);
  for (uint32_t row = 0; row < x.n; ++row) std::copy_n(x.row(row) + first, n, part.row(row));
  return part;
}

Projections project_heads(const ProjectedLayer& layer, const Rows& h,
                          std::span<const uint32_t> positions) {
  const model::ModelSpec& spec = layer.spec;
  const model::LayerConfig& kind = spec.layers[layer.index];
  const model::Heads heads = spec.heads(layer.index);
  Rows all = multiply(layer.weights.stack(Role::kQkv), h, layer.pool);
  const Values& bias = layer.weights.values(Role::kQkvBias);
  for (uint32_t row = 0; row < all.n && !bias.empty(); ++row)
    add(all.row(row), bias.data(), bias.size());
  const size_t q_dim = heads.q_dim(), kv_dim = heads.kv_dim();
  const size_t n_queries = q_dim * (spec.attention_gate ? 2 : 1);
  Projections out{columns(all, 0, n_queries), {}, {}};
  if (kind.keys_back == 0) {
    out.keys = columns(all, n_queries, kv_dim);
    out.values = columns(all, n_queries + (kind.values_are_keys ? 0 : kv_dim), kv_dim);
  }
  const Values ones(heads.head_dim, 1.0f);
  const Part queries{heads.n, layer.weights.values(Role::kQNorm), true};
  const Part keys{heads.n_kv, layer.weights.values(Role::kKNorm), false};
  each_row(layer.pool, h.n, [&](uint32_t row) {
    norm_and_turn(layer, queries, positions[row], out.queries.row(row));
    if (out.keys.n == 0) return;
    norm_and_turn(layer, keys, positions[row], out.keys.row(row));
    for (int head = 0; head < heads.n_kv && spec.value_norm; ++head) {
      float* const x = out.values.row(row) + head * heads.head_dim;
      rms_norm(x, ones.data(), spec.rms_eps, heads.head_dim, x);
    }
  });
  return out;
}

void gate_heads(const ProjectedLayer& layer, const Rows& queries, Rows& attended) {
  if (!layer.spec.attention_gate) return;
  for (uint32_t row = 0; row < attended.n; ++row) {
    const float* const gates = queries.row(row) + attended.width;
    for (size_t i = 0; i < attended.width; ++i) attended.row(row)[i] *= sigmoid(gates[i]);
  }
}

}  // namespace pando::exec::scalar
