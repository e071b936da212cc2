#include "model/transformer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numbers>

#include "base/fault.h"
#include "kernel/blocks.h"
#include "kernel/kv_write.h"

namespace pando::model {
namespace {

using Clock = std::chrono::steady_clock;

// Adds the time since the last lap to one phase after another.
class Stopwatch {
 public:
  void lap(double& phase) {
    const Clock::time_point now = Clock::now();
    phase += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }

 private:
  Clock::time_point last_ = Clock::now();
};

constexpr uint32_t kRowsPerItem = 8;  // of row-local work: enough to pay for handing it out

// body(row) for every row, a few rows an item.
template <class Body>
void for_rows(ThreadPool& pool, uint32_t n_rows, const Body& body) {
  pool.parallel_for((n_rows + kRowsPerItem - 1) / kRowsPerItem, [&](int64_t item, int) {
    const uint32_t begin = static_cast<uint32_t>(item) * kRowsPerItem;
    for (uint32_t row = begin; row < std::min(begin + kRowsPerItem, n_rows); ++row) body(row);
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
      rope_(config_.rope, config_.head_dim, max_positions),
      query_scale_(static_cast<float>(std::numbers::log2e / std::sqrt(config_.head_dim))),
      baseline_attention_(kernels, pool) {}

const float* Transformer::forward(const StepPlan& plan, const kernel::KvView& kv) {
  Stopwatch watch;
  resize(plan.n_rows());
  kernel::copy_pages(kv, plan.copies);
  embed(plan);
  watch.lap(times_.row_ops_s);
  uint32_t n_rows = plan.n_rows();
  for (int i = 0; i < config_.n_layers; ++i) {
    const LayerWeights& layer = weights_.layers[i];
    attend(i, plan, kv);
    const bool is_last = i + 1 == config_.n_layers;
    if (is_last && !weights_.all_rows) {  // nothing behind this point is read by other rows
      keep_outputs(plan);
      n_rows = static_cast<uint32_t>(plan.outputs.size());
      if (n_rows == 0) break;
    }
    linear({&layer.o, 1}, buffers_.attended.data(), config_.q_dim(), n_rows,
           buffers_.projected.data());
    add_to_residual(n_rows, layer.o_bias, layer.attention_norm);
    feed_forward(layer, n_rows);
    add_to_residual(n_rows, {}, layer.feed_forward_norm);
  }
  if (weights_.all_rows) {
    keep_outputs(plan);
    n_rows = static_cast<uint32_t>(plan.outputs.size());
  }
  norm_rows(buffers_.x.data(), weights_.final_norm, n_rows, buffers_.normed.data());
  return buffers_.normed.data();
}

void Transformer::logits(const float* hidden, int n, float* out) {
  linear({&weights_.head, 1}, hidden, config_.d_model, static_cast<uint32_t>(n), out);
}

void Transformer::resize(uint32_t n_rows) {
  const auto fit = [n_rows](AlignedVector<float>& buffer, size_t width) {
    if (buffer.size() < n_rows * width) buffer.resize(n_rows * width);
  };
  fit(buffers_.x, config_.d_model);
  fit(buffers_.normed, config_.d_model);
  fit(buffers_.qkv, config_.q_dim() + 2 * config_.kv_dim());
  fit(buffers_.q, config_.q_dim());
  fit(buffers_.attended, config_.q_dim());
  fit(buffers_.projected, config_.d_model);
  fit(buffers_.gate_up, 2 * config_.d_ff);
}

void Transformer::embed(const StepPlan& plan) {
  const TensorView& table = weights_.embedding;
  const size_t d = config_.d_model;
  for_rows(pool_, plan.n_rows(), [&](uint32_t row) {
    const int64_t n = config_.d_model;
    const std::byte* from = table.data + plan.tokens[row] * kernel::stored_bytes(table.dtype, n);
    kernel::read_weights(kernels_, table.dtype, from, n, buffers_.x.data() + row * d);
  });
}

// buffers_.x -> buffers_.attended; keys and values of all rows go to their pages.
void Transformer::attend(int index, const StepPlan& plan, const kernel::KvView& kv) {
  const LayerWeights& layer = weights_.layers[index];
  const uint32_t n_rows = plan.n_rows();
  const int head_dim = config_.head_dim;
  const size_t q_dim = config_.q_dim(), kv_dim = config_.kv_dim(), qkv_dim = q_dim + 2 * kv_dim;

  linear(layer.qkv, block_input(layer.attention_norm, n_rows), config_.d_model, n_rows,
         buffers_.qkv.data());

  Stopwatch watch;
  for_rows(pool_, n_rows, [&](uint32_t row) {
    float* qkv = buffers_.qkv.data() + row * qkv_dim;
    uint32_t pos = plan.positions[row];
    if (!layer.qkv_bias.empty())
      kernels_.add(qkv, layer.qkv_bias.data(), static_cast<int>(qkv_dim));
    if (fault_on(Fault::kRopeFromChunk)) pos -= std::min(pos, plan.positions[0]);
    if (config_.qk_norm == QkNorm::kFullWidth) {
      float* k = qkv + q_dim;
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
    std::memcpy(buffers_.q.data() + row * q_dim, qkv, q_dim * sizeof(float));
  });
  const float* k = buffers_.qkv.data() + q_dim;
  const int kv_layer = kv.shape.n_layers == 1 ? 0 : index;  // one layer: all write it in turn
  kernel::write_kv(kernels_, pool_, kv, kv_layer, k, k + kv_dim, static_cast<int64_t>(qkv_dim),
                   plan.slot_begin, plan.slots);
  watch.lap(times_.row_ops_s);

  const kernel::AttentionArgs args{
      .kv = kv,
      .layer = kv_layer,
      .n_heads = config_.n_heads,
      .scale = query_scale_,
      // One that no sequence outgrows hides nothing.
      .window = config_.window(index) < context_ ? config_.window(index) : 0,
      .positions = plan.positions,
      .tasks = plan.tasks,
      .task_pages = plan.task_pages,
      .q = buffers_.q.data(),
      .out = buffers_.attended.data()};
  if (BaselineAttention::does(plan)) {
    baseline_attention_.run(plan, args, {k, k + kv_dim, static_cast<int64_t>(qkv_dim)},
                            attention_scratch_);
  } else {
    kernel::attention(kernels_, pool_, args, attention_scratch_);
  }
  watch.lap(times_.attention_s);
}

// buffers_.x -> buffers_.projected.
void Transformer::feed_forward(const LayerWeights& layer, uint32_t n_rows) {
  const float* input = block_input(layer.feed_forward_norm, n_rows);
  linear(layer.gate_up, input, config_.d_model, n_rows, buffers_.gate_up.data());
  Stopwatch watch;
  const size_t ff = config_.d_ff;
  for_rows(pool_, n_rows, [&](uint32_t row) {
    float* gate = buffers_.gate_up.data() + row * 2 * ff;
    kernels_.swiglu(gate, gate + ff, config_.d_ff, gate);
  });
  watch.lap(times_.row_ops_s);
  linear({&layer.down, 1}, buffers_.gate_up.data(), static_cast<int64_t>(2 * ff), n_rows,
         buffers_.projected.data());
}

void Transformer::norm_rows(const float* x, const std::vector<float>& weight, uint32_t n_rows,
                            float* out) {
  Stopwatch watch;
  const size_t d = config_.d_model;
  for_rows(pool_, n_rows, [&](uint32_t row) {
    kernels_.rms_norm(x + row * d, weight.data(), config_.rms_eps, config_.d_model, out + row * d);
  });
  if (fault_on(Fault::kScalarTailRow) && n_rows % 2 == 1) {
    const float* last = x + (n_rows - 1) * d;
    float sum = 0;
    for (size_t i = 0; i < d; ++i) sum += last[i] * last[i];
    const float r = 1.0f / std::sqrt(sum / static_cast<float>(d) + config_.rms_eps);
    for (size_t i = 0; i < d; ++i) out[(n_rows - 1) * d + i] = last[i] * r * weight[i];
  }
  watch.lap(times_.row_ops_s);
}

// Moves the rows of the plan's outputs to the front.
void Transformer::keep_outputs(const StepPlan& plan) {
  const size_t d = config_.d_model, q_dim = config_.q_dim();
  for (size_t i = 0; i < plan.outputs.size();
       ++i) {  // outputs ascend, so nothing is overwritten unread
    const size_t row = plan.outputs[i];
    std::memmove(buffers_.x.data() + i * d, buffers_.x.data() + row * d, d * sizeof(float));
    std::memmove(buffers_.attended.data() + i * q_dim, buffers_.attended.data() + row * q_dim,
                 q_dim * sizeof(float));
  }
}

// The residual stream, normed unless norms come behind.
const float* Transformer::block_input(const std::vector<float>& norm, uint32_t n_rows) {
  if (config_.post_norm) return buffers_.x.data();
  norm_rows(buffers_.x.data(), norm, n_rows, buffers_.normed.data());
  return buffers_.normed.data();
}

// buffers_.x += buffers_.projected + bias, summed over the ranks first; with norms behind, their
// norm.
void Transformer::add_to_residual(uint32_t n_rows, const std::vector<float>& bias,
                                  const std::vector<float>& norm) {
  Stopwatch watch;
  const size_t d = config_.d_model;
  comm_.all_reduce_sum(buffers_.projected.data(), static_cast<int64_t>(n_rows * d));
  for_rows(pool_, n_rows, [&](uint32_t row) {
    float* y = buffers_.projected.data() + row * d;
    if (!bias.empty()) kernels_.add(y, bias.data(), config_.d_model);
    if (config_.post_norm) kernels_.rms_norm(y, norm.data(), config_.rms_eps, config_.d_model, y);
    kernels_.add(buffers_.x.data() + row * d, y, config_.d_model);
  });
  watch.lap(times_.row_ops_s);
}

void Transformer::linear(std::span<const kernel::PackedMatrix> w, const float* x, int64_t x_stride,
                         uint32_t n_rows, float* y) {
  Stopwatch watch;
  int64_t n = 0;
  for (const kernel::PackedMatrix& matrix : w) n += matrix.n();
  for (const kernel::PackedMatrix& matrix : w) {
    kernel::linear(kernels_, pool_, matrix, x, x_stride, static_cast<int>(n_rows), y, n,
                   linear_scratch_);
    times_.linear_flops += 2.0 * n_rows * matrix.n() * matrix.k();
    y += matrix.n();
  }
  watch.lap(times_.linear_s);
}

}  // namespace pando::model
