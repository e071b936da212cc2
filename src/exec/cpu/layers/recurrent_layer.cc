#include "exec/cpu/layers/recurrent_layer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/fault.h"
#include "exec/cpu/kernel/cpu/recurrence_args.h"
#include "exec/cpu/layers/rows.h"
#include "exec/cpu/layers/stopwatch.h"

namespace pando::exec {
namespace {

using model::Mixer;

constexpr float kL2Eps = 1e-6f;
constexpr int kChannelsEach = 128;  // of a convolution: as many as make a thread's piece

}  // namespace

RecurrentLayer::RecurrentLayer(const model::ModelSpec& spec, const kernel::Kernels& kernels,
                               ThreadPool& pool, PhaseTimes& times, bool is_divided)
    : spec_(spec),
      shape_(spec.recurrent),
      kernels_(kernels),
      pool_(pool),
      times_(times),
      is_divided_(is_divided),
      factors_dim_(2 * size_t(shape_.n_heads) + shape_.n_key_heads) {
  if (shape_.key_dim > 0) query_scale_ = static_cast<float>(1.0 / std::sqrt(shape_.key_dim));
  for (const model::LayerConfig& layer : spec.layers) {
    if (!model::is_recurrent(layer.mixer)) continue;
    const bool is_short = layer.mixer == Mixer::kShortConv;
    projected_dim_ = std::max(projected_dim_, form_of(layer.mixer).end);
    channels_ = std::max(channels_, size_t(spec.conv_channels(layer.mixer)));
    mixed_dim_ = std::max(
        mixed_dim_, size_t(is_short ? spec.conv_channels(layer.mixer) : shape_.value_width()));
  }
  const size_t slice = size_t{kernel::kStateSlice} * shape_.key_dim;
  zeros_.reserve(std::max(channels_, slice) * sizeof(float));
  work_.reserve(pool.n_threads() * slice * sizeof(float));
}

RecurrentLayer::Form RecurrentLayer::form_of(Mixer mixer) const {
  const size_t n_keys = shape_.key_width(), n_values = shape_.value_width();
  const size_t n_heads = shape_.n_heads, n_channels = spec_.conv_channels(mixer);
  Form form;
  switch (mixer) {
    case Mixer::kNone:
    case Mixer::kAttention:
      break;
    case Mixer::kShortConv:  // B, C, x
      form.z = n_channels;
      form.end = 3 * n_channels;
      break;
    case Mixer::kDeltaNet:  // queries, keys, values, z, b, a
      form.z = 2 * n_keys + n_values;
      form.beta = form.z + n_values;
      form.decay = form.beta + n_heads;
      form.end = form.decay + n_heads;
      form.keys = n_keys;
      form.values = 2 * n_keys;
      break;
    case Mixer::kMamba2:  // z, x, B, C, dt
      form.conv = n_values;
      form.decay = 2 * n_values + 2 * n_keys;
      form.end = form.decay + n_heads;
      form.keys = n_values;
      form.queries = n_values + n_keys;
      break;
  }
  return form;
}

void RecurrentLayer::begin(uint32_t n_rows) {
  projected_.reserve(n_rows * projected_dim_ * sizeof(float));
  convolved_.reserve(n_rows * channels_ * sizeof(float));
  factors_.reserve(n_rows * factors_dim_ * sizeof(float));
  mixed_.reserve(n_rows * mixed_dim_ * sizeof(float));
}

void RecurrentLayer::run(int layer, const LayerWeights& weights, const StepPlan& plan,
                         const kernel::StateView& view, ResidualStream& x, Products& products) {
  const uint32_t n_rows = plan.n_rows();
  products.multiply(
      weights.qkv, n_rows,
      [&](int row, float* own) { return x.read(row, weights.attention_norm, n_rows, own); },
      projected_.as<float>());

  Stopwatch watch;
  const std::vector<StateSegment> segments = state_segments(plan);
  const Mixer mixer = spec_.layers[layer].mixer;
  const Pass pass{mixer, form_of(mixer), weights, view, segments};
  convolve(pass);
  watch.lap(times_.attention_s);
  if (mixer == Mixer::kShortConv) return;
  for_rows(pool_, n_rows, [&](uint32_t row) { prepare(pass, row); });
  watch.lap(times_.row_ops_s);
  recur(pass);
  watch.lap(times_.attention_s);
  for_rows(pool_, n_rows, [&](uint32_t row) { finish(pass, row); });
  watch.lap(times_.row_ops_s);
}

void RecurrentLayer::convolve(const Pass& pass) {
  const int channels = pass.view.shape.channels;
  pool_.parallel_runs((channels + kChannelsEach - 1) / kChannelsEach, [&](int64_t item, int) {
    const int first = static_cast<int>(item) * kChannelsEach;
    convolve_block(pass, first, std::min(kChannelsEach, channels - first));
  });
}

// Channels [first, first + n) of all rows, and of the slots that are written.
void RecurrentLayer::convolve_block(const Pass& pass, int first, int n) {
  const kernel::StateShape& shape = pass.view.shape;
  const bool is_short = pass.mixer == Mixer::kShortConv;
  for (const StateSegment& segment : pass.segments) {
    const int n_rows = static_cast<int>(segment.end - segment.begin);
    float* const u = projected(pass, segment.begin) + pass.form.conv + first;
    const auto u_stride = static_cast<int64_t>(pass.form.end);
    if (is_short)  // B becomes B * x
      for (int row = 0; row < n_rows; ++row)
        kernels_.multiply(u + row * u_stride, u + row * u_stride + 2 * shape.channels, n);
    const bool is_first = segment.from == kNoStateSlot;
    const float* const history =
        is_first ? zeros_.as<float>() : pass.view.slot(segment.from) + first;
    const int64_t history_stride = is_first ? 0 : shape.channels;
    float* const out = is_short ? row(segment.begin) : convolved(pass, segment.begin);
    const auto out_stride = static_cast<int64_t>(is_short ? mixed_dim_ : shape.channels);
    const std::vector<float>& bias = pass.weights.conv_bias;
    kernels_.convolve({.history = history,
                       .history_stride = history_stride,
                       .u = u,
                       .u_stride = u_stride,
                       .w = pass.weights.conv.data() + first,
                       .w_stride = shape.channels,
                       .bias = bias.empty() ? nullptr : bias.data() + first,
                       .taps = shape.conv_rows + 1,
                       .n_rows = n_rows,
                       .n = n,
                       .with_silu = !is_short,
                       .out = out + first,
                       .out_stride = out_stride});
    if (is_short)
      for (int row = 0; row < n_rows; ++row)
        kernels_.multiply(out + row * out_stride + first, u + row * u_stride + pass.form.z, n);
    if (segment.to == kNoStateSlot) continue;
    float* const to = pass.view.slot(segment.to) + first;
    for (int i = 0; i < shape.conv_rows; ++i) {
      const int from = n_rows - shape.conv_rows + i;
      const float* input =
          from < 0 ? history + (from + shape.conv_rows) * history_stride : u + from * u_stride;
      if (from < 0 && fault_on(Fault::kConvInputLost)) input = zeros_.as<float>();
      std::memcpy(to + size_t(i) * shape.channels, input, n * sizeof(float));
    }
  }
}

// Queries, keys and factors of a row.
void RecurrentLayer::prepare(const Pass& pass, uint32_t row) {
  const LayerWeights& weights = pass.weights;
  float* const p = projected(pass, row);
  float *const alpha = factors(row), *const gain = alpha + shape_.n_heads;
  // Steps of a delta-net serve for its decays only.
  float* const step = pass.mixer == Mixer::kMamba2 ? gain : p + pass.form.decay;
  kernels_.decay(p + pass.form.decay, weights.dt_bias.data(), weights.decay.data(), shape_.n_heads,
                 step, alpha);
  if (pass.mixer == Mixer::kMamba2) return;
  kernels_.sigmoids(p + pass.form.beta, shape_.n_heads, gain);
  if (shape_.doubled_beta) kernels_.scale(gain, 2.0f, shape_.n_heads, gain);
  float* const dot = gain + shape_.n_heads;
  for (int head = 0; head < shape_.n_key_heads; ++head) {
    float* const q = convolved(pass, row) + pass.form.queries + head * shape_.key_dim;
    float* const k = convolved(pass, row) + pass.form.keys + head * shape_.key_dim;
    kernels_.l2_norm(q, kL2Eps, query_scale_, shape_.key_dim);
    kernels_.l2_norm(k, kL2Eps, 1.0f, shape_.key_dim);
    dot[head] = kernels_.dot(q, k, shape_.key_dim);
  }
}

void RecurrentLayer::recur(const Pass& pass) {
  const kernel::StateShape& shape = pass.view.shape;
  const int n_slices = shape.n_slices();
  pool_.parallel_runs(int64_t{shape.n_heads} * n_slices, [&](int64_t item, int worker) {
    recur_slice(pass, static_cast<int>(item) / n_slices, static_cast<int>(item) % n_slices,
                work_.as<float>() + worker * shape.slice_floats());
  });
}

// One slice of one head's state, through all rows.
void RecurrentLayer::recur_slice(const Pass& pass, int head, int slice, float* work) {
  const kernel::StateShape& shape = pass.view.shape;
  const size_t at = shape.matrix_offset(head, slice);
  const size_t column = size_t(slice) * kernel::kStateSlice;
  const size_t of_head = size_t(head) * shape.value_dim + column;  // in a row of values
  const int key_head = shape_.heads_interleaved ? head % shape_.n_key_heads
                                                : head / (shape_.n_heads / shape_.n_key_heads);
  const size_t of_key_head = size_t(key_head) * shape.key_dim;
  const auto state_before = [&](const StateSegment& segment) -> const float* {
    const bool is_zero = segment.from == kNoStateSlot || fault_on(Fault::kMatrixLost);
    return is_zero ? zeros_.as<float>() : pass.view.slot(segment.from) + at;
  };
  for (const StateSegment& segment : pass.segments) {
    const bool is_kept = segment.to != kNoStateSlot;
    const bool is_last = &segment == &pass.segments.back();
    const float* const c = convolved(pass, segment.begin);
    const float* const f = factors(segment.begin);
    const kernel::RecurrenceArgs args{
        .from = state_before(segment),
        .to = is_kept ? pass.view.slot(segment.to) + at : work,
        .keeps_last = is_kept,
        .next_from = is_last ? nullptr : state_before(*(&segment + 1)),
        .key_dim = shape.key_dim,
        .n_columns = std::min(kernel::kStateSlice, shape.value_dim - static_cast<int>(column)),
        .n_rows = static_cast<int>(segment.end - segment.begin),
        .k = c + pass.form.keys + of_key_head,
        .q = c + pass.form.queries + of_key_head,
        .v = c + pass.form.values + of_head,
        .stride = shape.channels,
        .alpha = f + head,
        .gain = f + shape.n_heads + head,
        .dot = f + 2 * shape.n_heads + key_head,
        .factor_stride = static_cast<int64_t>(factors_dim_),
        .skip = pass.mixer == Mixer::kMamba2 ? pass.weights.skip[head] : 0.0f,
        .out = row(segment.begin) + of_head,
        .out_stride = static_cast<int64_t>(mixed_dim_)};
    (pass.mixer == Mixer::kMamba2 ? kernels_.mamba2 : kernels_.delta_net)(args);
  }
}

// Norms and gates the mixed values of a row.
void RecurrentLayer::finish(const Pass& pass, uint32_t row) {
  float* const y = this->row(row);
  const float* const z = projected(pass, row) + pass.form.z;
  const std::vector<float>& norm = pass.weights.state_norm;
  const int n = shape_.value_width(), value_dim = shape_.value_dim;
  if (pass.mixer == Mixer::kMamba2) {
    kernels_.swiglu(z, y, n, y);
    if (!is_divided_) norm_groups(pass.weights, shape_, y);
    return;
  }
  const float eps = shape_.norm_eps > 0.0f ? shape_.norm_eps : spec_.rms_eps;
  for (int i = 0; i < n; i += value_dim)
    kernels_.rms_norm(y + i, norm.data(), eps, value_dim, y + i);
  kernels_.swiglu(z, y, n, y);
}

void RecurrentLayer::norm_groups(const LayerWeights& weights, const model::RecurrentConfig& shape,
                                 float* y) const {
  const int n = shape.value_width(), in_group = n / shape.n_key_heads;
  for (int i = 0; i < n; i += in_group)
    kernels_.rms_norm(y + i, weights.state_norm.data() + i, spec_.rms_eps, in_group, y + i);
}

}  // namespace pando::exec
