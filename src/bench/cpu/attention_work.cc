#include "bench/cpu/attention_work.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/half.h"
#include "base/numbers/weight_types.h"
#include "bench/cpu/kernel_peaks.h"
#include "exec/cpu/kernel/kernels.h"

namespace pando::bench {
namespace {

constexpr int kMostLayers = 64;

int ceil_div(int a, int b) { return (a + b - 1) / b; }

kernel::KvShape kv_shape(const AttentionCase& c) {
  return {.type = c.type,
          .n_layers = 1,
          .n_kv_heads = c.n_kv_heads,
          .head_dim = c.head_dim,
          .tile_len = c.tile_len,
          .span_len = c.span_len};
}

int n_pages(const AttentionCase& c, int page_len) {
  const int prefix = ceil_div(c.prefix, page_len), suffix = ceil_div(c.suffix, page_len);
  return c.own_copies ? c.batch * (prefix + suffix) : prefix + c.batch * suffix;
}

}  // namespace

double AttentionCase::bytes() const {
  const kernel::KvShape shape = kv_shape(*this);
  return static_cast<double>(shape.page_bytes()) * n_pages(*this, shape.page_len);
}

AttentionWork::AttentionWork(const AttentionCase& shape, size_t n_bytes) : case_(shape) {
  args_.kv.shape = kv_shape(case_);
  const double n_layers = std::ceil(static_cast<double>(n_bytes) / case_.bytes());
  args_.kv.shape.n_layers = static_cast<int>(std::clamp(n_layers, 2.0, 1.0 * kMostLayers));
  fill();
  list_pages();
  args_.kv.base = memory_.data();
  args_.n_heads = case_.n_heads;
  args_.scale = static_cast<float>(1.4426950408889634 / std::sqrt(case_.head_dim));
  positions_.assign(static_cast<size_t>(case_.batch), static_cast<uint32_t>(case_.n_keys() - 1));
  args_.positions = positions_;
  args_.task_pages = pages_;
  add_tasks(tasks_, case_.own_copies ? 0 : case_.prefix, false);
  add_tasks(tasks_each_, 0, true);

  std::minstd_rand random(2);
  std::uniform_real_distribution<float> uniform(-1, 1);
  q_.resize(static_cast<size_t>(case_.batch) * case_.n_heads * case_.head_dim);
  for (float& x : q_) x = uniform(random);
  out_.resize(q_.size());
  args_.q = q_.data();
  args_.q_stride = int64_t{case_.n_heads} * case_.head_dim;
  args_.out = out_.data();
}

// Random elements in [-1, 1]; int8: any integers, with the scale of such elements.
void AttentionWork::fill() {
  const kernel::KvShape& shape = args_.kv.shape;
  memory_ = AlignedBuffer(static_cast<size_t>(n_pages(case_, shape.page_len)) * shape.page_bytes());
  std::minstd_rand random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  AlignedBuffer pattern(size_t{1} << 14);
  for (size_t i = 0; i < pattern.size(); ++i) pattern.as<uint8_t>()[i] = random() & 0xff;
  for (size_t i = 0; i < pattern.size() / 4; ++i) {
    const float x = uniform(random), y = uniform(random);
    if (shape.type == DType::kF32) pattern.as<float>()[i] = x;
    if (dtype_size(shape.type) != 2) continue;
    const auto narrow = shape.type == DType::kF16 ? f32_to_f16 : f32_to_bf16;
    pattern.as<uint16_t>()[2 * i] = narrow(x);
    pattern.as<uint16_t>()[2 * i + 1] = narrow(y);
  }
  for (size_t at = 0; at < memory_.size(); at += pattern.size())
    std::copy_n(pattern.data(), std::min(pattern.size(), memory_.size() - at), memory_.data() + at);
  if (shape.type != DType::kI8) return;
  const size_t elements =
      static_cast<size_t>(kernel::int8_element_bytes(shape.page_len, shape.head_dim));
  for (size_t at = elements; at < memory_.size(); at += shape.chunk_bytes())
    std::fill_n(reinterpret_cast<float*>(memory_.data() + at), shape.page_len, 1.0f / 127);
}

// A path for each sequence, the pages of the prefix in all of them.
void AttentionWork::list_pages() {
  const int page_len = args_.kv.shape.page_len;
  const int prefix = ceil_div(case_.prefix, page_len), suffix = ceil_div(case_.suffix, page_len);
  PageId next = case_.own_copies ? 0 : static_cast<PageId>(prefix);
  for (int sequence = 0; sequence < case_.batch; ++sequence) {
    paths_.push_back(static_cast<uint32_t>(pages_.size()));
    for (int i = 0; i < prefix; ++i)
      pages_.push_back(case_.own_copies ? next++ : static_cast<PageId>(i));
    for (int i = 0; i < suffix; ++i) pages_.push_back(next++);
  }
}

// Tiles that begin before `shared_end` are one task of all rows, the others one for each row.
void AttentionWork::add_tasks(std::vector<AttentionTask>& tasks, int shared_end,
                              bool for_each_row) const {
  const kernel::KvShape& shape = args_.kv.shape;
  const int per_tile = shape.pages_per_tile(), n_all = ceil_div(case_.n_keys(), shape.page_len);
  for (int tile = 0; tile * shape.tile_len < case_.n_keys(); ++tile) {
    const uint32_t first = static_cast<uint32_t>(tile * per_tile);
    const uint32_t n = static_cast<uint32_t>(std::min(per_tile, n_all - tile * per_tile));
    const bool is_shared = !for_each_row && tile * shape.tile_len < shared_end;
    const uint32_t each = is_shared ? static_cast<uint32_t>(case_.batch) : 1;
    for (uint32_t row = 0; row < static_cast<uint32_t>(case_.batch); row += each)
      tasks.push_back({static_cast<uint32_t>(tile), row, row + each, paths_[row] + first, n});
  }
}

void AttentionWork::next_layer() { args_.layer = (args_.layer + 1) % args_.kv.shape.n_layers; }

void AttentionWork::shared(ThreadPool& pool) {
  args_.tasks = tasks_;
  kernel::attention(used_kernels(), pool, args_, scratch_);
  next_layer();
}

void AttentionWork::per_sequence(ThreadPool& pool) {
  args_.tasks = tasks_each_;
  kernel::attention(used_kernels(), pool, args_, scratch_);
  next_layer();
}

void AttentionWork::run(
    FunctionRef<void(const kernel::AttentionArgs&, kernel::AttentionScratch&)> attend) {
  attend(args_, scratch_);
  next_layer();
}

}  // namespace pando::bench
