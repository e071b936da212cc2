// Checks queries, keys and values before attention, and gates after it.
#include <algorithm>

#include "exec/gpu/check_cases.h"
#include "exec/gpu/head_ops.h"
#include "exec/scalar/projections.h"

namespace pando::exec::gpu {
namespace {

using model::QkNorm;
using model::Role;

constexpr uint32_t kRows = 3;
constexpr int kContext = 600, kWidth = 8;  // kWidth: of the projected rows
constexpr int kLayer = 1;                  // not the first, so a layer is before it

model::ModelSpec random_spec(CheckCases& cases, QkNorm norm) {
  model::ModelSpec spec;
  spec.d_model = kWidth;
  spec.n_kv_heads = cases.uniform(1, 2);
  spec.n_heads = spec.n_kv_heads * cases.uniform(norm == QkNorm::kFullWidth ? 4 : 1, 5);
  spec.head_dim = cases.chance() ? kWidestHead : 4 * cases.uniform(2, 33);
  spec.layers.resize(2);
  spec.layers[kLayer].keys_back = cases.uniform(0, 3) == 0 ? 1 : 0;
  // Models that use keys as values do not norm all heads together.
  spec.layers[kLayer].values_are_keys = norm != QkNorm::kFullWidth && cases.uniform(0, 3) == 0;
  spec.rotations[0].rotary_share = 0.5 * cases.uniform(0, 2);
  spec.rotations[0].original_positions = 100;
  spec.rotations[0].query_growth = cases.chance() ? 0.1f : 0.0f;
  if (spec.head_dim % 8 != 0) spec.rotations[0].rotary_share = cases.uniform(0, 1);
  spec.qk_norm = norm;
  spec.value_norm = cases.chance();
  spec.qkv_bias = cases.chance();
  spec.attention_gate = cases.chance();
  return spec;
}

scalar::LayerWeights random_weights(CheckCases& cases, const model::ModelSpec& spec) {
  const model::Heads heads = spec.heads(kLayer);
  const model::LayerConfig& layer = spec.layers[kLayer];
  const int n_kv = layer.keys_back > 0 ? 0 : layer.values_are_keys ? 1 : 2;
  const int n = heads.q_dim() * (spec.attention_gate ? 2 : 1) + heads.kv_dim() * n_kv;
  scalar::LayerWeights weights;
  scalar::Matrix matrix(DType::kF32, n, kWidth);
  for (int row = 0; row < n; ++row)
    matrix.set_row(row, DType::kF32,
                   reinterpret_cast<const std::byte*>(cases.values(kWidth).data()));
  scalar::Stack stack;
  stack.push_back(std::move(matrix));
  weights.set(Role::kQkv, std::move(stack));
  if (spec.qkv_bias) weights.set(Role::kQkvBias, cases.values(static_cast<size_t>(n)));
  weights.set(Role::kQNorm, cases.values(static_cast<size_t>(spec.q_norm_dim(heads))));
  weights.set(Role::kKNorm, cases.values(static_cast<size_t>(spec.k_norm_dim(heads))));
  return weights;
}

scalar::Rows part_of(CheckCases& cases, const Columns& columns) {
  scalar::Rows all(columns.rows->n, columns.rows->width);
  cases.host().read(columns.rows->values, 0, all.values.data(), all.values.size() * sizeof(float));
  return scalar::columns(all, columns.first, columns.n);
}

void check_projection(CheckCases& cases, QkNorm norm) {
  Host& host = cases.host();
  const model::ModelSpec spec = random_spec(cases, norm);
  const scalar::LayerWeights weights = random_weights(cases, spec);
  const scalar::Rotations rotations(spec, kContext);
  const scalar::ProjectedLayer layer{spec, kLayer, weights, rotations, cases.pool()};
  const scalar::Rows h = cases.rows(kRows, kWidth);
  std::vector<uint32_t> positions;
  for (uint32_t row = 0; row < kRows; ++row)
    positions.push_back(static_cast<uint32_t>(cases.uniform(0, kContext - 1)));
  const scalar::Projections expected = scalar::project_heads(layer, h, positions);

  const Rotations on_device(host, spec, kContext);
  const Buffer places = cases.upload(positions);
  const Buffer growth = cases.upload(query_growth(spec.rotations[0], positions));
  Rows all = cases.upload(scalar::multiply(weights.stack(Role::kQkv), h, cases.pool())), spare;
  const auto values_of = [&](Role role) { return Values::of(host, weights.values(role)); };
  const KeysAndValues made = project(
      host, {spec, kLayer, on_device.of_layer(kLayer), places, growth}, values_of(Role::kQkvBias),
      values_of(Role::kQNorm), values_of(Role::kKNorm), all, spare);
  const auto compare = [&](const scalar::Rows& wanted, const Columns& found) {
    if (found.empty()) return;
    const Rows part = cases.upload(part_of(cases, found));
    cases.compare("heads", wanted, part);
  };
  compare(expected.queries, {&all, 0, expected.queries.width});
  compare(expected.keys, made.keys);
  compare(expected.values, made.values);

  if (!spec.attention_gate) return;
  scalar::Rows attended = cases.rows(kRows, static_cast<size_t>(spec.heads(kLayer).q_dim()));
  Rows gated = cases.upload(attended);
  gate_heads(host, spec, all, gated);
  scalar::gate_heads(layer, expected.queries, attended);
  cases.compare("heads", attended, gated);
}

}  // namespace

void check_heads(CheckCases& cases) {
  for (int round = 0; round < 3 * cases.n_rounds(); ++round)
    for (const QkNorm norm : {QkNorm::kNone, QkNorm::kPerHead, QkNorm::kPerHeadTurned,
                              QkNorm::kFullWidth, QkNorm::kLayerPerHead})
      check_projection(cases, norm);
}

}  // namespace pando::exec::gpu
