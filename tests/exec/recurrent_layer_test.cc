// Recurrent layers: the bits of plain loops over whole paths, however the rows of paths are divided
// into tasks and steps, wherever states are kept and forked, on every instruction set.
#include "exec/cpu/layers/recurrent_layer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "exec/cpu/state_layout.h"
#include "kernel/isas.h"
#include "reference/reference_recurrence.h"

namespace pando::exec {
namespace {

using model::Mixer;
using Floats = std::vector<float>;
using Rows = std::vector<Floats>;

constexpr int kModel = 12;

model::ModelSpec config_of(Mixer mixer, bool interleaved) {
  model::ModelSpec config;
  config.d_model = kModel;
  config.rms_eps = 1e-5f;
  // The layer is not the first of its slot.
  config.layers = {{.mixer = mixer}, {.mixer = Mixer::kAttention}, {.mixer = mixer}};
  config.recurrent = {.conv_taps = 4,
                      .n_key_heads = 2,
                      .n_heads = 4,
                      .key_dim = 10,
                      .value_dim = 37,
                      .heads_interleaved = interleaved,
                      .conv_bias = mixer == Mixer::kMamba2};
  return config;
}

constexpr int kLayer = 2;

// A layer's weights, packed and plain.
struct Layer {
  exec::LayerWeights weights;
  Floats projection;  // [n_out, kModel]
  int n_out;

  Layer(const model::ModelSpec& config, Mixer mixer, const kernel::Kernels& kernels) {
    std::mt19937 random(5);
    const auto draw = [&](size_t n, float mean, float scale) {
      std::normal_distribution<float> normal(mean, scale);
      Floats values(n);
      for (float& x : values) x = normal(random);
      return values;
    };
    const model::RecurrentConfig& r = config.recurrent;
    const int channels = config.conv_channels(mixer);
    n_out = mixer == Mixer::kShortConv  ? 3 * kModel
            : mixer == Mixer::kDeltaNet ? channels + r.value_width() + 2 * r.n_heads
                                        : channels + r.value_width() + r.n_heads;
    projection = draw(size_t(n_out) * kModel, 0.0f, 0.5f);
    weights.attention_norm = draw(kModel, 1.0f, 0.1f);
    weights.qkv.emplace_back(DType::kF32, n_out, kModel);
    weights.qkv[0].set_rows(kernels, 0, n_out, DType::kF32, projection.data());
    weights.conv = draw(size_t(r.conv_taps) * channels, 0.0f, 0.5f);
    if (r.conv_bias) weights.conv_bias = draw(channels, 0.0f, 0.5f);
    weights.dt_bias = draw(r.n_heads, -1.0f, 1.0f);
    weights.decay = draw(r.n_heads, -0.5f, 0.1f);
    weights.skip = draw(r.n_heads, 1.0f, 0.3f);
    weights.state_norm = draw(mixer == Mixer::kMamba2 ? r.value_width() : r.value_dim, 1.0f, 0.1f);
  }
};

void rms_norm(float* x, const float* w, float eps, int n) {
  const float r = 1.0f / std::sqrt(reference::dot16(x, x, n) / static_cast<float>(n) + eps);
  for (int i = 0; i < n; ++i) x[i] = (x[i] * r) * w[i];
}

// The last row that the layer yields for a whole path, by plain loops.
class Plain {
 public:
  Plain(const model::ModelSpec& config, Mixer mixer, const Layer& layer)
      : config_(config), mixer_(mixer), layer_(layer), r_(config.recurrent) {}

  Floats last_row(const Rows& path) const {
    const int channels = config_.conv_channels(mixer_), n_values = r_.value_width(),
              n_keys = r_.key_width();
    std::vector<reference::HeadState> states(r_.n_heads, {r_.key_dim, r_.value_dim});
    Rows u(r_.conv_taps - 1, Floats(channels, 0.0f));
    Floats y;
    for (const Floats& x : path) {
      const Floats p = project(x);
      const float* const begin = p.data() + (mixer_ == Mixer::kMamba2 ? n_values : 0);
      u.emplace_back(begin, begin + channels);
      if (mixer_ == Mixer::kShortConv)
        for (int i = 0; i < channels; ++i) u.back()[i] *= p[2 * kModel + i];
      Floats c = convolved(u);
      if (mixer_ == Mixer::kShortConv) {
        for (int i = 0; i < channels; ++i) c[i] *= p[kModel + i];
        y = c;
        continue;
      }
      y.assign(n_values, NAN);
      for (int head = 0; head < r_.n_heads; ++head) {
        const int key_head =
            r_.heads_interleaved ? head % r_.n_key_heads : head / (r_.n_heads / r_.n_key_heads);
        float* const o = &y[head * r_.value_dim];
        if (mixer_ == Mixer::kDeltaNet) {
          Floats q(&c[key_head * r_.key_dim], &c[key_head * r_.key_dim] + r_.key_dim);
          Floats k(&c[n_keys + key_head * r_.key_dim],
                   &c[n_keys + key_head * r_.key_dim] + r_.key_dim);
          reference::l2_norm(q.data(), static_cast<float>(1.0 / std::sqrt(r_.key_dim)), r_.key_dim);
          reference::l2_norm(k.data(), 1.0f, r_.key_dim);
          const float* const z = p.data() + channels;
          const float* const b = z + n_values;
          const float* const a = b + r_.n_heads;
          const float step = reference::softplus(a[head] + layer_.weights.dt_bias[head]);
          reference::delta_net_row(
              states[head], k.data(), q.data(), &c[2 * n_keys + head * r_.value_dim],
              reference::decay(layer_.weights.decay[head], step), reference::sigmoid(b[head]), o);
          rms_norm(o, layer_.weights.state_norm.data(), config_.rms_eps, r_.value_dim);
          for (int i = 0; i < r_.value_dim; ++i)
            o[i] = reference::silu(z[head * r_.value_dim + i]) * o[i];
        } else {
          const float dt = p[2 * n_values + 2 * n_keys + head];
          const float step = reference::softplus(dt + layer_.weights.dt_bias[head]);
          reference::mamba2_row(states[head], &c[n_values + key_head * r_.key_dim],
                                &c[n_values + n_keys + key_head * r_.key_dim],
                                &c[head * r_.value_dim],
                                reference::decay(layer_.weights.decay[head], step), step,
                                layer_.weights.skip[head], o);
          for (int i = 0; i < r_.value_dim; ++i)
            o[i] = reference::silu(p[head * r_.value_dim + i]) * o[i];
        }
      }
      const int in_group = n_values / std::max(r_.n_key_heads, 1);
      for (int i = 0; mixer_ == Mixer::kMamba2 && i < n_values; i += in_group)
        rms_norm(&y[i], &layer_.weights.state_norm[i], config_.rms_eps, in_group);
    }
    return y;
  }

 private:
  Floats project(Floats x) const {
    rms_norm(x.data(), layer_.weights.attention_norm.data(), config_.rms_eps, kModel);
    Floats p(layer_.n_out, 0.0f);
    for (int i = 0; i < layer_.n_out; ++i)
      for (int k = 0; k < kModel; ++k)
        p[i] = std::fma(x[k], layer_.projection[size_t(i) * kModel + k], p[i]);
    return p;
  }
  Floats convolved(const Rows& u) const {
    const int channels = config_.conv_channels(mixer_);
    Floats c(channels);
    for (int i = 0; i < channels; ++i) {
      Floats of_u, of_w;
      for (int m = 0; m < r_.conv_taps; ++m) {
        of_u.push_back(u[u.size() - r_.conv_taps + m][i]);
        of_w.push_back(layer_.weights.conv[size_t(m) * channels + i]);
      }
      c[i] = reference::convolved(of_u, of_w, r_.conv_bias ? layer_.weights.conv_bias[i] : 0.0f);
      if (mixer_ != Mixer::kShortConv) c[i] = reference::silu(c[i]);
    }
    return c;
  }

  const model::ModelSpec& config_;
  Mixer mixer_;
  const Layer& layer_;
  const model::RecurrentConfig& r_;
};

struct RandomStep {
  StepPlan plan;
  Rows inputs;  // [n_rows]
  Rows expected;
};

// Tasks that begin nowhere, or go on from any state that was kept before, in this step too; each
// keeps some of its states, some of them twice.
class RandomSteps {
 public:
  static constexpr uint32_t kSlots = 64;

  RandomSteps(const Plain& plain, uint32_t seed) : plain_(plain), random_(seed) {}

  RandomStep next() {
    RandomStep step;
    const int n_tasks = uniform(1, 5);
    for (int i = 0; i < n_tasks; ++i) {
      Rows path;
      StateSlot from = kNoStateSlot;
      if (!paths_.empty() && uniform(0, 3) > 0) {
        from = static_cast<StateSlot>(uniform(0, static_cast<int>(paths_.size()) - 1));
        path = paths_[from];
      }
      const auto begin = static_cast<uint32_t>(step.inputs.size());
      const int n_rows = uniform(1, 7);
      for (int row = 0; row < n_rows; ++row) {
        Floats x(kModel);
        for (float& value : x) value = std::normal_distribution<float>()(random_);
        path.push_back(x);
        step.inputs.push_back(x);
        step.expected.push_back(plain_.last_row(path));
        if (uniform(0, 2) == 0 && paths_.size() < kSlots) {
          step.plan.state_writes.push_back(
              {begin + static_cast<uint32_t>(row), static_cast<StateSlot>(paths_.size())});
          paths_.push_back(path);
        }
      }
      step.plan.state_tasks.push_back({begin, begin + static_cast<uint32_t>(n_rows), from});
    }
    step.plan.tokens.resize(step.inputs.size());
    return step;
  }

 private:
  int uniform(int first, int last) {
    return std::uniform_int_distribution<int>(first, last)(random_);
  }

  const Plain& plain_;
  std::mt19937 random_;
  std::vector<Rows> paths_;  // behind which each slot has the state
};

struct Case {
  Mixer mixer;
  bool interleaved;
};
class RecurrentLayerTest : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Mixers, RecurrentLayerTest,
                         testing::Values(Case{Mixer::kDeltaNet, false},
                                         Case{Mixer::kDeltaNet, true},
                                         Case{Mixer::kShortConv, false},
                                         Case{Mixer::kMamba2, false}));

TEST_P(RecurrentLayerTest, HasTheBitsOfPlainLoopsOverWholePaths) {
  const auto [mixer, interleaved] = GetParam();
  const model::ModelSpec config = config_of(mixer, interleaved);
  const StateLayout layout(config);
  const Layer layer(config, mixer, kernel::best_kernels());
  const Plain plain(config, mixer, layer);
  RandomSteps random(plain, 7);
  std::vector<RandomStep> steps;
  for (int i = 0; i < 12; ++i) steps.push_back(random.next());
  for (const kernel::Kernels* kernels : kernel::all_kernels()) {
    ThreadPool pool(kernels->isa == kernel::Isa::kAvx2 ? 3 : 1);
    PhaseTimes times;
    Products products(*kernels, pool, times);
    ResidualStream x(*kernels, config);
    RecurrentLayer recurrent(config, *kernels, pool, times);
    AlignedBuffer slots(RandomSteps::kSlots * layout.slot_bytes());
    std::memset(slots.data(), 0xff, slots.size());  // NaN
    const kernel::StateView view = layout.view({slots.as<float>()}, kLayer);
    for (const RandomStep& step : steps) {
      const uint32_t n_rows = step.plan.n_rows();
      x.begin(n_rows);
      for (uint32_t row = 0; row < n_rows; ++row) std::ranges::copy(step.inputs[row], x.row(row));
      recurrent.begin(n_rows);
      recurrent.run(kLayer, layer.weights, step.plan, view, x, products);
      for (uint32_t row = 0; row < n_rows; ++row)
        ASSERT_EQ(std::memcmp(recurrent.row(row), step.expected[row].data(),
                              step.expected[row].size() * sizeof(float)),
                  0)
            << kernels->name << " step " << &step - steps.data() << " row " << row;
    }
  }
}

TEST(StateSegments, EndWhereAStateIsKept) {
  StepPlan plan;
  plan.state_tasks = {{0, 5, kNoStateSlot}, {5, 6, 3}, {6, 9, 4}};
  plan.state_writes = {{1, 7}, {4, 9}, {7, 2}};
  const std::vector<StateSegment> expected = {{0, 2, kNoStateSlot, 7},
                                              {2, 5, 7, 9},
                                              {5, 6, 3, kNoStateSlot},
                                              {6, 8, 4, 2},
                                              {8, 9, 2, kNoStateSlot}};
  EXPECT_TRUE(state_segments(plan) == expected);
}

TEST(StateLayout, HasRecurrentLayersOneAfterAnotherAtCacheLines) {
  model::ModelSpec config = config_of(Mixer::kDeltaNet, false);
  const StateLayout layout(config);
  const kernel::StateShape shape = state_shape(config, Mixer::kDeltaNet);
  // Queries and keys of two heads, values of four; three rows of them, then two slices of each
  // head.
  EXPECT_EQ(shape.channels, 2 * 2 * 10 + 4 * 37);
  EXPECT_EQ(shape.conv_floats(), 576u) << "3 x 188, in whole lines of 16";
  EXPECT_EQ(shape.n_floats(), 576u + 4 * 2 * 10 * 32);
  EXPECT_EQ(layout.slot_bytes(), 2 * shape.n_floats() * sizeof(float));
  AlignedBuffer slots(2 * layout.slot_bytes());
  const kernel::StateView first = layout.view({slots.as<float>()}, 0),
                          last = layout.view({slots.as<float>()}, 2);
  EXPECT_EQ(last.slot(0) - first.slot(0), std::ptrdiff_t(shape.n_floats()));
  EXPECT_EQ(first.slot(1) - first.slot(0), std::ptrdiff_t(2 * shape.n_floats()));
  config.layers = {{.mixer = Mixer::kAttention}};
  EXPECT_EQ(StateLayout(config).slot_bytes(), 0u);
  config.layers = {{.mixer = Mixer::kShortConv}};
  EXPECT_EQ(StateLayout(config).slot_bytes(), (3 * kModel + 15) / 16 * 16 * sizeof(float));
}

}  // namespace
}  // namespace pando::exec
