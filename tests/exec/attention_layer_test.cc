// The attention of a layer beside its kernels: gates, and the pages of models with other layers.
#include "exec/cpu/layers/attention_layer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <vector>

#include "exec/cpu/kv_memory.h"
#include "kernel/isas.h"
#include "reference/reference_recurrence.h"

namespace pando::exec {
namespace {

using model::Mixer;
using Floats = std::vector<float>;

constexpr int kRows = 7, kModel = 16, kHeads = 4, kKvHeads = 2, kHeadDim = 8;

Floats normals(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Floats values(n);
  for (float& x : values) x = normal(random);
  return values;
}

struct Found {
  Floats rows;                  // [kRows, kHeads * kHeadDim]
  std::vector<bool> kv_layers;  // true if keys were written to the layer, for page 0, then for page
                                // 1
};

using Change = std::function<void(model::ModelSpec&, exec::LayerWeights&, AttentionOptions&)>;

// The attention of the last layer. projection: row-major [outputs, kModel].
Found attend(const kernel::Kernels& kernels, const Floats& projection, bool gated,
             const std::vector<Mixer>& mixers, const Change& change = {}) {
  model::ModelSpec config;
  config.d_model = kModel;
  config.n_heads = kHeads;
  config.n_kv_heads = kKvHeads;
  config.head_dim = kHeadDim;
  config.attention_gate = gated;
  for (const Mixer mixer : mixers) config.layers.push_back({.mixer = mixer});
  config.qk_norm = model::QkNorm::kPerHead;
  exec::LayerWeights weights;
  weights.q_norm = weights.k_norm = Floats(kHeadDim, 1.1f);
  AttentionOptions options{.context = 64};
  if (change) change(config, weights, options);
  const auto n_out = static_cast<int>(projection.size()) / kModel;
  weights.qkv.emplace_back(DType::kF32, n_out, kModel);
  weights.qkv[0].set_rows(kernels, 0, n_out, DType::kF32, projection.data());

  ThreadPool pool(2);
  PhaseTimes times;
  Products products(kernels, pool, times);
  ResidualStream x(kernels, config);
  x.begin(kRows);
  std::ranges::copy(normals(kRows * kModel, 2), x.row(0));
  const KvMemory memory({.type = DType::kF32,
                         .n_layers = config.n_attention_layers(),
                         .n_kv_heads = kKvHeads,
                         .head_dim = kHeadDim},
                        2);
  StepPlan plan;
  plan.tokens.resize(kRows);
  plan.slot_begin = {0};
  for (uint32_t row = 0; row < kRows; ++row) {
    plan.positions.push_back(row);
    plan.slots.push_back({0, row});
    plan.slot_begin.push_back(row + 1);
  }
  plan.tasks = {{.tile = 0, .row_begin = 0, .row_end = kRows, .first_page = 0, .n_pages = 1}};
  plan.task_pages = {0};
  AttentionLayer layer(config, kernels, pool, options, times);
  layer.begin(kRows);
  layer.run(config.n_layers() - 1, weights, plan, {0, plan.n_rows()}, {memory.views()}, x,
            products);
  const int last = config.n_layers() - 1;
  Found found{{layer.row(last, 0), layer.row(last, kRows)}, {}};
  const kernel::KvShape& shape = memory.views()[0].shape;
  for (const PageId page : {0, 1})
    for (int i = 0; i < shape.n_layers; ++i)
      found.kv_layers.push_back(*(memory.views()[0].page(page) + shape.key_offset(i, 0)) !=
                                std::byte{0});
  return found;
}

TEST(AttentionLayer, MultipliesByTheSigmoidsOfGates) {
  const size_t n_q = kHeads * kHeadDim, n_kv = 2 * kKvHeads * kHeadDim;
  const Floats gated = normals((2 * n_q + n_kv) * kModel, 1);
  Floats plain = gated;  // without the gates, which stand behind the queries
  const Floats gates(gated.begin() + n_q * kModel, gated.begin() + 2 * n_q * kModel);
  plain.erase(plain.begin() + n_q * kModel, plain.begin() + 2 * n_q * kModel);
  const Floats x = normals(kRows * kModel, 2);
  for (const kernel::Kernels* kernels : kernel::all_kernels()) {
    Floats expected = attend(*kernels, plain, false, {Mixer::kAttention}).rows;
    for (size_t row = 0; row < kRows; ++row) {
      for (size_t i = 0; i < n_q; ++i) {
        float gate = 0.0f;
        for (size_t k = 0; k < kModel; ++k)
          gate = std::fma(x[row * kModel + k], gates[i * kModel + k], gate);
        expected[row * n_q + i] *= reference::sigmoid(gate);
      }
    }
    EXPECT_EQ(attend(*kernels, gated, true, {Mixer::kAttention}).rows, expected) << kernels->name;
  }
}

// Values are the keys before their norm, also where the norm needs the heads of other ranks.
TEST(AttentionLayer, TakesKeysAsValuesBeforeTheirNorm) {
  const size_t n_q = kHeads * kHeadDim, n_kv = kKvHeads * kHeadDim;
  const Floats projection = normals((n_q + n_kv) * kModel, 1);
  Floats twice = projection;  // with the keys as values of their own
  twice.insert(twice.end(), projection.begin() + n_q * kModel, projection.end());
  const auto norm_all = [&](model::ModelSpec& config, exec::LayerWeights& weights) {
    config.qk_norm = model::QkNorm::kFullWidth;
    weights.q_norm = normals(n_q, 4);
    weights.k_norm = normals(n_kv, 5);
  };
  const kernel::Kernels& kernels = kernel::best_kernels();
  const Floats expected =
      attend(kernels, twice, false, {Mixer::kAttention}, [&](auto& config, auto& weights, auto&) {
        norm_all(config, weights);
      }).rows;
  for (const bool joins : {false, true}) {
    const Change change = [&](auto& config, auto& weights, AttentionOptions& options) {
      norm_all(config, weights);
      config.layers[0].values_are_keys = true;
      if (joins)  // as one rank of one
        options.gather = [&](const float* own, uint32_t n_rows, std::span<const int>, float* all) {
          std::copy_n(own, n_rows * (n_q + n_kv), all);
        };
    };
    EXPECT_EQ(attend(kernels, projection, false, {Mixer::kAttention}, change).rows, expected)
        << joins;
  }
}

TEST(AttentionLayer, IsNumberedAmongAttentionLayersInPages) {
  const Floats projection = normals((kHeads + 2 * kKvHeads) * kHeadDim * kModel, 1);
  using enum Mixer;
  const Found found = attend(kernel::best_kernels(), projection, false,
                             {kShortConv, kAttention, kShortConv, kAttention});
  EXPECT_EQ(found.kv_layers, std::vector<bool>({false, true, false, false}));
  EXPECT_EQ(found.rows,
            attend(kernel::best_kernels(), projection, false, {kAttention, kAttention}).rows);
}

}  // namespace
}  // namespace pando::exec
