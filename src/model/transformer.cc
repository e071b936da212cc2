#include "model/transformer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numbers>

#include "base/check.h"
#include "base/fault.h"
#include "kernel/blocks.h"
#include "kernel/kv_write.h"

namespace pando::model {
namespace {

using Clock = std::chrono::steady_clock;

// Adds the time since the last lap to one phase after another.
class Stopwatch {
 public:
  void lap() { last_ = Clock::now(); }
  void lap(double& phase) {
    const Clock::time_point now = Clock::now();
    phase += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

 private:
  Clock::time_point last_ = Clock::now();
};

// body(begin, end) for blocks of `rows_each` rows.
template <class Body>
void for_blocks(ThreadPool& pool, uint32_t n_rows, uint32_t rows_each, const Body& body) {
  pool.parallel_runs((n_rows + rows_each - 1) / rows_each, [&](int64_t item, int) {
    const uint32_t begin = static_cast<uint32_t>(item) * rows_each;
    body(begin, std::min(begin + rows_each, n_rows));
  });
}

// body(row) for every row.
template <class Body>
void for_rows(ThreadPool& pool, uint32_t n_rows, const Body& body) {
  constexpr uint32_t kRowsEach = 8;  // enough to pay for handing them out
  for_blocks(pool, n_rows, kRowsEach, [&](uint32_t begin, uint32_t end) {
    for (uint32_t row = begin; row < end; ++row) body(row);
  });
}

}  // namespace

Transformer::Transformer(const Weights& weights, const kernel::Kernels& kernels, ThreadPool& pool,
                         Comm& comm, int max_positions)
    : weights_(weights),
      config_(weights.config),
      kernels_(kernels),
      pool_(pool),
      comm_(comm),
      context_(max_positions),
      rope_(config_.rotations[0], config_.head_dim, max_positions),
      query_scale_(static_cast<float>(std::numbers::log2e / std::sqrt(config_.head_dim))),
      baseline_attention_(kernels, pool) {}

const float* Transformer::forward(const StepPlan& plan, const kernel::KvView& kv) {
  Stopwatch watch;
  resize(plan);
  pending_ = {};
  kernel::copy_pages(kv, plan.copies);
  embed(plan);
  watch.lap(times_.row_ops_s);
  uint32_t n_rows = plan.n_rows();
  for (int i = 0; i < config_.n_layers(); ++i) {
    attend(i, plan, kv);
    const bool is_last = i + 1 == config_.n_layers();
    if (is_last && !weights_.all_rows) {  // nothing behind this point is read by other rows
      keep_outputs(plan);
      n_rows = static_cast<uint32_t>(plan.outputs.size());
      if (n_rows == 0) break;
    }
    finish_layer(weights_.layers[i], n_rows);
  }
  watch.lap();
  for_rows(pool_, n_rows, [&](uint32_t row) { settle(row); });
  if (weights_.all_rows) {
    keep_outputs(plan);
    n_rows = static_cast<uint32_t>(plan.outputs.size());
  }
  for_rows(pool_, n_rows, [&](uint32_t row) {
    float* out = buffers_.hidden.as<float>() + size_t{row} * config_.d_model;
    norm_row(weights_.final_norm, row, n_rows, out);
  });
  watch.lap(times_.row_ops_s);
  return buffers_.hidden.as<float>();
}

void Transformer::logits(const float* hidden, int n, float* out) {
  linear(
      {&weights_.head, 1}, static_cast<uint32_t>(n),
      [&](int row, float*) { return hidden + int64_t{row} * config_.d_model; }, out);
}

void Transformer::resize(const StepPlan& plan) {
  const auto fit = [](AlignedBuffer& buffer, size_t n_rows, size_t width) {
    buffer.reserve(n_rows * width * sizeof(float));
  };
  const size_t n_rows = plan.n_rows();
  fit(buffers_.x, n_rows, config_.d_model);
  fit(buffers_.qkv, n_rows, config_.q_dim() + 2 * config_.kv_dim());
  fit(buffers_.attended, n_rows, config_.q_dim());
  fit(buffers_.projected, n_rows, config_.d_model);
  fit(buffers_.gate_up, n_rows, 2 * config_.d_ff);
  fit(buffers_.hidden, plan.outputs.size(), config_.d_model);
}

void Transformer::embed(const StepPlan& plan) {
  const TensorView& table = weights_.embedding;
  const size_t d = config_.d_model;
  for_rows(pool_, plan.n_rows(), [&](uint32_t row) {
    const int64_t n = config_.d_model;
    const std::byte* from = table.data + plan.tokens[row] * kernel::stored_bytes(table.dtype, n);
    kernel::read_weights(kernels_, table.dtype, from, n, buffers_.x.as<float>() + row * d);
  });
}

// The residual stream -> buffers_.attended; keys and values of all rows go to their pages.
void Transformer::attend(int index, const StepPlan& plan, const kernel::KvView& kv) {
  const LayerWeights& layer = weights_.layers[index];
  const uint32_t n_rows = plan.n_rows();
  const size_t q_dim = config_.q_dim(), kv_dim = config_.kv_dim(), qkv_dim = q_dim + 2 * kv_dim;
  enter(layer.qkv, layer.attention_norm, n_rows, buffers_.qkv.as<float>());

  Stopwatch watch;
  PANDO_CHECK(plan.slot_begin.size() == n_rows + size_t{1} &&
              plan.slot_begin.back() <= plan.slots.size());
  float* const qkv = buffers_.qkv.as<float>();
  const kernel::NewKeys keys{qkv + q_dim, qkv + q_dim + kv_dim, static_cast<int64_t>(qkv_dim)};
  const int kv_layer = kv.shape.n_layers == 1 ? 0 : index;  // one layer: all write it in turn
  for_blocks(pool_, n_rows, kernel::kKvRowsEach, [&](uint32_t begin, uint32_t end) {
    for (uint32_t row = begin; row < end; ++row) rotate(layer, plan, row, qkv + row * qkv_dim);
    kernel::write_kv_rows(kernels_, kv, kv_layer, keys, plan.slot_begin, plan.slots, begin, end);
  });
  watch.lap(times_.row_ops_s);

  const kernel::AttentionArgs args{
      .kv = kv,
      .layer = kv_layer,
      .n_heads = config_.n_heads,
      .scale = query_scale_,
      // One that no sequence outgrows hides nothing.
      .window = config_.layers[index].window < context_ ? config_.layers[index].window : 0,
      .positions = plan.positions,
      .tasks = plan.tasks,
      .task_pages = plan.task_pages,
      .q = qkv,
      .q_stride = static_cast<int64_t>(qkv_dim),
      .out = buffers_.attended.as<float>()};
  if (BaselineAttention::does(plan)) {
    baseline_attention_.run(plan, args, keys, attention_scratch_);
  } else {
    kernel::attention(kernels_, pool_, args, attention_scratch_);
  }
  watch.lap(times_.attention_s);
}

// Bias, norm and rotary embedding of one row's queries and keys.
void Transformer::rotate(const LayerWeights& layer, const StepPlan& plan, uint32_t row,
                         float* qkv) {
  const int head_dim = config_.head_dim;
  if (!layer.qkv_bias.empty())
    kernels_.add(qkv, layer.qkv_bias.data(), static_cast<int>(layer.qkv_bias.size()));
  uint32_t pos = plan.positions[row];
  if (fault_on(Fault::kRopeFromChunk)) pos -= std::min(pos, plan.positions[0]);
  if (config_.qk_norm == QkNorm::kFullWidth) {
    float* k = qkv + config_.q_dim();
    kernels_.rms_norm(qkv, layer.q_norm.data(), config_.rms_eps, config_.q_dim(), qkv);
    kernels_.rms_norm(k, layer.k_norm.data(), config_.rms_eps, config_.kv_dim(), k);
  }
  for (int head = 0; head < config_.n_heads + config_.n_kv_heads; ++head) {
    float* x = qkv + head * head_dim;
    if (config_.qk_norm == QkNorm::kPerHead) {
      const std::vector<float>& weight = head < config_.n_heads ? layer.q_norm : layer.k_norm;
      kernels_.rms_norm(x, weight.data(), config_.rms_eps, head_dim, x);
    }
    kernels_.rope(x, rope_.cos(pos), rope_.sin(pos), rope_.rotary_dim());
  }
}

// buffers_.attended -> the residual stream: attention's projection and the feed-forward part.
void Transformer::finish_layer(const LayerWeights& layer, uint32_t n_rows) {
  project(layer.o, layer.o_bias, layer.attention_norm, n_rows, [&](int row, float*) {
    return buffers_.attended.as<float>() + int64_t{row} * config_.q_dim();
  });
  enter(layer.gate_up, layer.feed_forward_norm, n_rows, buffers_.gate_up.as<float>());
  project(layer.down, {}, layer.feed_forward_norm, n_rows, [&](int row, float* own) {
    const float* gate = buffers_.gate_up.as<float>() + int64_t{row} * 2 * config_.d_ff;
    kernels_.swiglu(gate, gate + config_.d_ff, config_.d_ff, own);
    return own;
  });
}

// Moves the rows of the plan's outputs to the front.
void Transformer::keep_outputs(const StepPlan& plan) {
  const size_t d = config_.d_model, q_dim = config_.q_dim();
  for (size_t i = 0; i < plan.outputs.size();
       ++i) {  // outputs ascend, so nothing is overwritten unread
    const size_t row = plan.outputs[i];
    std::memmove(buffers_.x.as<float>() + i * d, buffers_.x.as<float>() + row * d,
                 d * sizeof(float));
    std::memmove(buffers_.attended.as<float>() + i * q_dim,
                 buffers_.attended.as<float>() + row * q_dim, q_dim * sizeof(float));
  }
}

void Transformer::enter(std::span<const kernel::PackedMatrix> w, const std::vector<float>& norm,
                        uint32_t n_rows, float* y) {
  linear(
      w, n_rows,
      [&](uint32_t row, float* own) -> const float* {
        settle(row);
        if (config_.post_norm) return buffers_.x.as<float>() + size_t{row} * config_.d_model;
        norm_row(norm, row, n_rows, own);
        return own;
      },
      y);
}

void Transformer::norm_row(const std::vector<float>& weight, uint32_t row, uint32_t n_rows,
                           float* out) {
  const size_t d = config_.d_model;
  const float* x = buffers_.x.as<float>() + row * d;
  if (fault_on(Fault::kScalarTailRow) && n_rows % 2 == 1 && row + 1 == n_rows) {
    float sum = 0;
    for (size_t i = 0; i < d; ++i) sum += x[i] * x[i];
    const float r = 1.0f / std::sqrt(sum / static_cast<float>(d) + config_.rms_eps);
    for (size_t i = 0; i < d; ++i) out[i] = x[i] * r * weight[i];
    return;
  }
  kernels_.rms_norm(x, weight.data(), config_.rms_eps, config_.d_model, out);
}

// Adds what is pending of a row to the residual stream: with its bias, and where norms come behind,
// normed.
void Transformer::settle(uint32_t row) {
  if (!pending_.any) return;
  float* y = buffers_.projected.as<float>() + size_t{row} * config_.d_model;
  if (!pending_.bias.empty()) kernels_.add(y, pending_.bias.data(), config_.d_model);
  if (config_.post_norm)
    kernels_.rms_norm(y, pending_.norm.data(), config_.rms_eps, config_.d_model, y);
  kernels_.add(buffers_.x.as<float>() + size_t{row} * config_.d_model, y, config_.d_model);
}

void Transformer::linear(std::span<const kernel::PackedMatrix> w, uint32_t n_rows,
                         kernel::RowSource source, float* y) {
  Stopwatch watch;
  const int k = w[0].k(), m = static_cast<int>(n_rows);
  int64_t n = 0;
  bool alike = true;
  for (const kernel::PackedMatrix& matrix : w) {
    n += matrix.n();
    alike = alike && kernel::PackedRows::same_for(w[0].type(), matrix.type());
  }
  const bool split = fault_on(Fault::kSplitSumOverK) && m >= 64;
  const auto unpacked = [&](int row, float*) {
    return buffers_.unpacked.as<float>() + int64_t{row} * k;
  };
  if (!alike || split) {  // a source may be asked once
    buffers_.unpacked.reserve(size_t{n_rows} * k * sizeof(float));
    for_rows(pool_, n_rows, [&](uint32_t row) {
      float* to = unpacked(static_cast<int>(row), nullptr);
      const float* x = source(static_cast<int>(row), to);
      if (x != to) std::copy_n(x, k, to);
    });
  }
  for (const kernel::PackedMatrix& matrix : w) {
    if (&matrix == &w[0] || !kernel::PackedRows::same_for(packed_.weights(), matrix.type()))
      packed_.pack(kernels_, pool_, matrix.type(), m, k, alike && !split ? source : unpacked);
    watch.lap(times_.row_ops_s);
    kernel::multiply(kernels_, pool_, matrix, packed_, y, n);
    if (split) multiply_halves(matrix, m, y, n);
    times_.linear_flops += 2.0 * m * matrix.n() * k;
    watch.lap(times_.linear_s);
    y += matrix.n();
  }
}

void Transformer::multiply_halves(const kernel::PackedMatrix& w, int m, float* y,
                                  int64_t y_stride) {
  const int64_t k = w.k(), n = w.n(), middle = k / 2;
  std::vector<float> low(m * k), high(m * k), sum(m * n);
  for (int64_t r = 0; r < m; ++r) {
    const float* x = buffers_.unpacked.as<float>() + r * k;
    std::copy(x, x + middle, &low[r * k]);
    std::copy(x + middle, x + k, &high[r * k + middle]);
  }
  kernel::PackedRows packed;
  kernel::linear(kernels_, pool_, w, low.data(), k, m, y, y_stride, packed);
  kernel::linear(kernels_, pool_, w, high.data(), k, m, sum.data(), n, packed);
  for (int64_t r = 0; r < m; ++r) kernels_.add(y + r * y_stride, &sum[r * n], w.n());
}

void Transformer::project(const kernel::PackedMatrix& w, std::span<const float> bias,
                          std::span<const float> norm, uint32_t n_rows, kernel::RowSource source) {
  linear({&w, 1}, n_rows, source, buffers_.projected.as<float>());
  Stopwatch watch;
  comm_.all_reduce_sum(buffers_.projected.as<float>(), int64_t{n_rows} * config_.d_model);
  watch.lap(times_.row_ops_s);
  pending_ = {.any = true, .bias = bias, .norm = norm};
}

}  // namespace pando::model
