// A GPU's queries, keys and values have the bits of plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "exec/gpu/head_ops.h"
#include "exec/gpu_testing.h"
#include "exec/scalar/projections.h"

namespace pando::exec::gpu {
namespace {

using model::QkNorm;
using model::Role;

constexpr int kContext = 40;
constexpr int kWidth = 8;  // of the input rows

struct Case {
  QkNorm norm = QkNorm::kNone;
  bool has_bias = false, has_gates = false, norms_values = false, values_are_keys = false;
  int keys_back = 0;
  double rotary_share = 1.0;
  float growth = 0.0f;
  int head_dim = 12;
};

model::ModelSpec spec_of(const Case& of) {
  model::ModelSpec spec;
  spec.d_model = kWidth;
  spec.n_heads = 6;
  spec.n_kv_heads = 2;
  spec.head_dim = of.head_dim;
  spec.layers = {{.values_are_keys = of.values_are_keys}};
  spec.layers.push_back({.keys_back = of.keys_back});
  spec.layers[1].values_are_keys = of.values_are_keys;
  spec.qk_norm = of.norm;
  spec.value_norm = of.norms_values;
  spec.attention_gate = of.has_gates;
  spec.rotations = {
      {.rotary_share = of.rotary_share, .original_positions = 8, .query_growth = of.growth}};
  return spec;
}

size_t width_of(const model::ModelSpec& spec) {
  const auto q_dim = static_cast<size_t>(spec.q_dim()), kv_dim = static_cast<size_t>(spec.kv_dim());
  const size_t n_queries = q_dim * (spec.attention_gate ? 2 : 1);
  if (spec.layers[1].keys_back > 0) return n_queries;
  return n_queries + kv_dim * (spec.layers[1].values_are_keys ? 1 : 2);
}

scalar::LayerWeights weights_of(const model::ModelSpec& spec, bool has_bias) {
  const size_t width = width_of(spec);
  const model::Heads heads = spec.heads(1);
  scalar::LayerWeights weights;
  scalar::Matrix qkv(DType::kF32, static_cast<int>(width), kWidth);
  const std::vector<float> values = normal(width * kWidth, 1);
  for (size_t row = 0; row < width; ++row)
    qkv.set_row(static_cast<int>(row), DType::kF32,
                reinterpret_cast<const std::byte*>(values.data() + row * kWidth));
  scalar::Stack stack;
  stack.push_back(std::move(qkv));
  weights.set(Role::kQkv, std::move(stack));
  if (has_bias) weights.set(Role::kQkvBias, normal(width, 2));
  weights.set(Role::kQNorm, normal(spec.q_norm_dim(heads), 3));
  weights.set(Role::kKNorm, normal(spec.k_norm_dim(heads), 4));
  return weights;
}

// Rows of queries and gates, then keys, then values.
std::vector<float> joined(const scalar::Projections& rows) {
  std::vector<float> all = rows.queries.values;
  all.insert(all.end(), rows.keys.values.begin(), rows.keys.values.end());
  all.insert(all.end(), rows.values.values.begin(), rows.values.values.end());
  return all;
}

void append(Host& host, const Columns& columns, std::vector<float>& to) {
  if (columns.empty()) return;
  const std::vector<float> rows = download(host, *columns.rows);
  for (uint32_t row = 0; row < columns.rows->n; ++row) {
    const auto begin = rows.begin() + static_cast<ptrdiff_t>(row * columns.rows->width);
    const auto first = begin + static_cast<ptrdiff_t>(columns.first);
    to.insert(to.end(), first, first + static_cast<ptrdiff_t>(columns.n));
  }
}

void expect_projections(const Case& of, Barriers& barriers) {
  const model::ModelSpec spec = spec_of(of);
  const scalar::LayerWeights weights = weights_of(spec, of.has_bias);
  const std::vector<uint32_t> positions = {0, 39, 7, 8, 17};
  const scalar::Rows h = random_rows(5, kWidth, 5);
  ThreadPool pool(1);
  const scalar::Rotations rotations(spec, kContext);
  const scalar::Projections expected =
      project_heads({spec, 1, weights, rotations, pool}, h, positions);
  const scalar::Rows products = multiply(weights.stack(Role::kQkv), h, pool);
  const size_t n_queries = static_cast<size_t>(spec.q_dim()) * (of.has_gates ? 2 : 1);
  barriers.expect(joined(expected), [&](Host& host) {
    const Rotations on_device(host, spec, kContext);
    const Buffer at = upload(host, positions);
    const Buffer growth = upload(host, query_growth(spec.rotations[0], positions));
    Rows all = upload(host, products), spare;
    const KeysAndValues rows = project(host, {spec, 1, on_device.of_layer(1), at, growth},
                                       Values::of(host, weights.values(Role::kQkvBias)),
                                       Values::of(host, weights.values(Role::kQNorm)),
                                       Values::of(host, weights.values(Role::kKNorm)), all, spare);
    std::vector<float> found;
    append(host, {&all, 0, n_queries}, found);
    append(host, rows.keys, found);
    append(host, rows.values, found);
    return found;
  });
}

TEST(GpuHeads, HaveTheBitsOfPlainLoops) {
  const Case cases[] = {
      {},
      {.has_bias = true, .has_gates = true},
      {.norms_values = true, .values_are_keys = true},
      {.norm = QkNorm::kPerHead, .has_bias = true},
      {.norm = QkNorm::kPerHead, .norms_values = true, .values_are_keys = true},
      {.norm = QkNorm::kPerHead, .has_bias = true, .values_are_keys = true, .head_dim = 16},
      {.norm = QkNorm::kPerHeadTurned, .has_gates = true, .growth = 0.1f, .head_dim = 200},
      {.norm = QkNorm::kFullWidth, .has_bias = true, .has_gates = true},
      {.norm = QkNorm::kFullWidth, .keys_back = 1, .head_dim = kWidestHead},
      {.norm = QkNorm::kLayerPerHead, .rotary_share = 0.5, .head_dim = 16},
      {.norm = QkNorm::kLayerPerHead, .norms_values = true, .head_dim = kWidestHead},
      {.has_gates = true, .keys_back = 1, .rotary_share = 0.0},
  };
  Barriers barriers;
  for (const Case& of : cases) expect_projections(of, barriers);
  EXPECT_EQ(barriers.met.size(), 6u);
  EXPECT_EQ(barriers.needed, barriers.met);
}

TEST(GpuHeads, GatesHaveTheBitsOfPlainLoops) {
  const model::ModelSpec spec = spec_of({.has_gates = true, .head_dim = 300});
  const auto width = static_cast<size_t>(spec.q_dim());
  const scalar::Rows all = random_rows(3, width_of(spec), 6), x = random_rows(3, width, 7);
  scalar::Rows expected = x;
  ThreadPool pool(1);
  const scalar::Rotations rotations(spec, kContext);
  const scalar::LayerWeights weights;
  gate_heads({spec, 1, weights, rotations, pool}, all, expected);
  expect_bits(expected.values, [&](Host& host) {
    Rows attended = upload(host, x);
    gate_heads(host, spec, upload(host, all), attended);
    return download(host, attended);
  });
}

}  // namespace
}  // namespace pando::exec::gpu
