// Random keys and values in pages, and attention over some of them in double precision: for the
// operators of the published techniques, which are right to rounding.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "base/numbers/weight_types.h"
#include "exec/cpu/kernel/kv_write.h"
#include "kernel/isas.h"

namespace pando::kernel {

inline std::vector<float> random_floats(std::mt19937& rng, size_t n) {
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& value : values) value = normal(rng);
  return values;
}

// One layer. Unwritten memory is NaN.
class StoredKeys {
 public:
  StoredKeys(KvShape shape, size_t n_pages)
      : shape_(shape), memory_(n_pages * shape.page_bytes() / 4, NAN) {}

  KvView view() { return {reinterpret_cast<std::byte*>(memory_.data()), shape_}; }

  // k, v: [n_kv_heads * head_dim].
  void write(ThreadPool& pool, const std::vector<float>& k, const std::vector<float>& v,
             KvSlot slot) {
    write_kv(best_kernels(), pool,
             {view(),
              0,
              {k.data(), v.data(), static_cast<int64_t>(k.size())},
              std::vector<uint32_t>{0, 1},
              {&slot, 1}});
  }

  // Element `channel` of a slot.
  float key(KvSlot slot, int head, int channel) {
    if (shape_.type == DType::kI8) {
      const std::byte* chunk = view().page(slot.page) + shape_.key_offset(0, head);
      const auto* q = reinterpret_cast<const uint8_t*>(chunk);
      return (q[(channel / 4 * shape_.page_len + slot.offset) * 4 + channel % 4] - 128) *
             scale_of(chunk, slot);
    }
    return at(shape_.key_offset(0, head), slot.page, channel * shape_.page_len + slot.offset);
  }
  float value(KvSlot slot, int head, int channel) {
    if (shape_.type == DType::kI8) {
      const std::byte* chunk = view().page(slot.page) + shape_.value_offset(0, head);
      const auto* q = reinterpret_cast<const int8_t*>(chunk);
      const int dim = (shape_.head_dim + 15) / 16 * 16;
      return q[(slot.offset / 4 * dim + channel) * 4 + slot.offset % 4] * scale_of(chunk, slot);
    }
    return at(shape_.value_offset(0, head), slot.page, slot.offset * shape_.head_dim + channel);
  }

  // softmax(q k) v over the slots for one query; q: [head_dim]; scale is that of exponents of 2.
  std::vector<double> attend(const float* q, double scale, int kv_head,
                             const std::vector<KvSlot>& slots) {
    std::vector<double> scores, out(shape_.head_dim, 0.0);
    for (const KvSlot slot : slots) {
      double score = 0;
      for (int d = 0; d < shape_.head_dim; ++d) score += double{q[d]} * key(slot, kv_head, d);
      scores.push_back(score * scale);
    }
    if (slots.empty()) return out;
    const double max = *std::ranges::max_element(scores);
    double sum = 0;
    for (double& score : scores) sum += score = std::exp2(score - max);
    for (size_t i = 0; i < slots.size(); ++i)
      for (int d = 0; d < shape_.head_dim; ++d)
        out[d] += scores[i] / sum * value(slots[i], kv_head, d);
    return out;
  }

 private:
  float scale_of(const std::byte* chunk, KvSlot slot) const {
    const std::byte* scales = chunk + int8_element_bytes(shape_.page_len, shape_.head_dim);
    return reinterpret_cast<const float*>(scales)[slot.offset];
  }
  float at(size_t offset, PageId page, size_t element) {
    if (shape_.type == DType::kF32)
      return memory_[(page * shape_.page_bytes() + offset) / sizeof(float) + element];
    float value = 0;
    const std::byte* from = view().page(page) + offset + element * dtype_size(shape_.type);
    best_kernels().widen(shape_.type, from, 1, &value);
    return value;
  }

  KvShape shape_;
  std::vector<float> memory_;
};

// found: [head_dim].
inline void expect_near(const std::vector<double>& expected, const float* found,
                        const std::string& where, double tolerance = 1e-5) {
  double norm = 0, difference = 0;
  for (size_t d = 0; d < expected.size(); ++d) {
    norm += expected[d] * expected[d];
    difference += (expected[d] - found[d]) * (expected[d] - found[d]);
  }
  ASSERT_LE(std::sqrt(difference), tolerance * std::sqrt(norm) + 1e-7) << where;
}

}  // namespace pando::kernel
