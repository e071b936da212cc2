// The forward pass of models that mix attention with recurrent layers: the same bits however a
// prompt is cut into steps, and whichever rows are wanted.
#include "exec/cpu/transformer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "exec/cpu/kernel/kernels.h"
#include "exec/cpu/kv_memory.h"

namespace pando::exec {
namespace {

using model::Mixer;
using Floats = std::vector<float>;

constexpr int kModel = 16, kFf = 20, kVocab = 30, kRows = 45;

// Embeddings in memory.
class Table final : public model::Tensor {
 public:
  explicit Table(const Floats& values) : values_(values) { shape = {kVocab, kModel}; }
  Status each_row(int64_t, int64_t, ReadRow) const override { return {}; }
  Result<Floats> values() const override { return values_; }
  const std::byte* in_place() const override {
    return reinterpret_cast<const std::byte*>(values_.data());
  }

 private:
  const Floats& values_;
};

// Random weights of a model of these layers. `table` keeps the embedding.
Weights weights_of(const std::vector<Mixer>& mixers, Floats& table) {
  Weights weights;
  model::ModelSpec& c = weights.spec;
  c.vocab = kVocab;
  c.d_model = kModel;
  c.n_heads = 2;
  c.n_kv_heads = 1;
  c.head_dim = 8;
  c.d_ff = kFf;
  c.attention_gate = true;
  c.max_positions = 64;
  c.recurrent = {.conv_taps = 4, .n_key_heads = 2, .n_heads = 4, .key_dim = 6, .value_dim = 10};
  const model::RecurrentConfig& r = c.recurrent;
  std::mt19937 random(3);
  const auto draw = [&](size_t n, float mean, float scale) {
    std::normal_distribution<float> normal(mean, scale);
    Floats values(n);
    for (float& x : values) x = normal(random);
    return values;
  };
  const auto matrix = [&](int n, int k) {
    kernel::PackedMatrix m(DType::kF32, n, k);
    m.set_rows(kernel::best_kernels(), 0, n, DType::kF32, draw(size_t(n) * k, 0, 0.3f).data());
    return m;
  };
  table = draw(kVocab * kModel, 0, 1);
  weights.embedding = std::make_unique<Table>(table);
  weights.final_norm = draw(kModel, 1, 0.1f);
  for (const Mixer mixer : mixers) {
    c.layers.push_back({.mixer = mixer});
    exec::LayerWeights& layer = weights.layers.emplace_back();
    const int channels = c.conv_channels(mixer), n_values = r.value_width();
    const bool is_short = mixer == Mixer::kShortConv;
    const int n_out = mixer == Mixer::kAttention  ? 2 * c.q_dim() + 2 * c.kv_dim()
                      : is_short                  ? 3 * kModel
                      : mixer == Mixer::kDeltaNet ? channels + n_values + 2 * r.n_heads
                                                  : channels + n_values + r.n_heads;
    const int n_mixed = mixer == Mixer::kAttention ? c.q_dim() : is_short ? kModel : n_values;
    layer.attention_norm = draw(kModel, 1, 0.1f);
    layer.qkv.push_back(matrix(n_out, kModel));
    layer.o = matrix(kModel, n_mixed);
    layer.conv = draw(size_t(r.conv_taps) * channels, 0, 0.5f);
    layer.decay = draw(r.n_heads, -0.5f, 0.1f);
    layer.dt_bias = draw(r.n_heads, 0, 1);
    layer.skip = draw(r.n_heads, 1, 0.3f);
    layer.state_norm = draw(mixer == Mixer::kMamba2 ? n_values : r.value_dim, 1, 0.1f);
    layer.feed_forward_norm = draw(kModel, 1, 0.1f);
    layer.gate_up.push_back(matrix(2 * kFf, kModel));
    layer.down = matrix(kModel, kFf);
  }
  return weights;
}

// Computes one path, a step for each chunk; the state goes from one of two slots to the other.
class Path {
 public:
  Path(const Weights& weights, bool all_rows)
      : layout_(weights.spec),
        pool_(2),
        transformer_(weights, kernel::best_kernels(), pool_,
                     {.context = 64, .attention = {}, .window_pages = false, .all_rows = all_rows}),
        keys_({.type = DType::kF32,
               .n_layers = weights.spec.n_attention_layers(),
               .n_kv_heads = 1,
               .head_dim = 8},
              2),
        states_(2 * layout_.slot_bytes()) {
    std::memset(states_.data(), 0xff, states_.size());  // NaN
  }

  // Computes the next n rows; returns the final hidden states of those in `outputs`, which are
  // counted from the path's begin.
  Floats step(uint32_t n, const std::vector<uint32_t>& outputs) {
    StepPlan plan;
    plan.slot_begin = {0};
    for (uint32_t row = 0; row < n; ++row) {
      const uint32_t pos = n_done_ + row;
      plan.tokens.push_back(static_cast<int32_t>(pos * 7 % kVocab));
      plan.positions.push_back(pos);
      plan.slots.push_back({pos / 32, pos % 32});
      plan.slot_begin.push_back(row + 1);
    }
    plan.tasks = {{.tile = 0,
                   .row_begin = 0,
                   .row_end = n,
                   .first_page = 0,
                   .n_pages = (n_done_ + n - 1) / 32 + 1}};
    plan.task_pages = {0, 1};
    plan.state_tasks = {{0, n, n_done_ == 0 ? kNoStateSlot : slot_}};
    slot_ = 1 - slot_;
    plan.state_writes = {{n - 1, slot_}};
    for (const uint32_t output : outputs)
      if (output >= n_done_ && output < n_done_ + n) plan.outputs.push_back(output - n_done_);
    n_done_ += n;
    const float* hidden =
        transformer_.forward(plan, {0, n}, {keys_.views()}, {states_.as<float>()});
    return {hidden, hidden + plan.outputs.size() * kModel};
  }

 private:
  StateLayout layout_;
  ThreadPool pool_;
  Transformer transformer_;
  KvMemory keys_;
  AlignedBuffer states_;
  uint32_t n_done_ = 0;
  StateSlot slot_ = 0;
};

class HybridTest : public testing::TestWithParam<std::vector<Mixer>> {};
INSTANTIATE_TEST_SUITE_P(
    Layers, HybridTest,
    testing::Values(std::vector{Mixer::kDeltaNet, Mixer::kAttention, Mixer::kDeltaNet},
                    std::vector{Mixer::kShortConv, Mixer::kAttention, Mixer::kShortConv},
                    std::vector{Mixer::kMamba2, Mixer::kMamba2, Mixer::kAttention}));

TEST_P(HybridTest, HasTheSameBitsHoweverAPromptIsCut) {
  Floats table;
  const Weights weights = weights_of(GetParam(), table);
  std::vector<uint32_t> all(kRows);
  for (uint32_t row = 0; row < kRows; ++row) all[row] = row;
  const Floats expected = Path(weights, false).step(kRows, all);
  ASSERT_EQ(expected.size(), size_t{kRows} * kModel);
  ASSERT_TRUE(std::ranges::all_of(expected, [](float x) { return std::isfinite(x); }));
  for (const bool all_rows : {false, true}) {
    for (const uint32_t chunk : {1, 2, 3, 8, 44}) {
      const std::vector<uint32_t> wanted = {0, 5, 6, 31, 32, 44};
      Floats found, of_wanted;
      Path path(weights, all_rows);
      for (uint32_t done = 0; done < kRows; done += chunk) {
        const Floats hidden = path.step(std::min<uint32_t>(chunk, kRows - done), wanted);
        found.insert(found.end(), hidden.begin(), hidden.end());
      }
      for (const uint32_t row : wanted)
        of_wanted.insert(of_wanted.end(), &expected[row * kModel],
                         &expected[row * kModel] + kModel);
      EXPECT_EQ(found, of_wanted) << "chunks of " << chunk;
    }
  }
}

}  // namespace
}  // namespace pando::exec
