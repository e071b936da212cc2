#include "kernel/kv_write.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/fault.h"

namespace pando::kernel {
namespace {

constexpr int kRowsEach = 16;  // neighbouring rows fill the same cache lines of a key chunk

// Sixteen channels at most, narrowed: [n] elements at `from` to channels of one position of a key
// chunk at `to`, page_len elements apart.
void scatter(const std::byte* from, int n, size_t element, size_t page_len, std::byte* to) {
  if (element == 2) {
    for (int i = 0; i < n; ++i) std::memcpy(to + i * page_len * 2, from + i * 2, 2);
  } else {
    for (int i = 0; i < n; ++i) std::memcpy(to + i * page_len * 4, from + i * 4, 4);
  }
}

// k, v: [n_kv_heads, head_dim] f32.
void write_row(const Kernels& kernels, const KvView& kv, int layer, const float* k, const float* v,
               std::span<const KvSlot> slots) {
  const KvShape& shape = kv.shape;
  const size_t element = dtype_size(shape.type);
  alignas(64) std::byte narrow[16 * sizeof(float)];
  for (int head = 0; head < shape.n_kv_heads; ++head) {
    for (int channel = 0; channel < shape.head_dim; channel += 16) {
      const int n = std::min(16, shape.head_dim - channel);
      const int64_t at = static_cast<int64_t>(head) * shape.head_dim + channel;
      kernels.narrow_kv(shape.type, k + at, n, narrow);
      for (const KvSlot& slot : slots) {
        std::byte* chunk = kv.page(slot.page) + shape.key_offset(layer, head);
        const size_t first = static_cast<size_t>(channel) * shape.page_len + slot.offset;
        scatter(narrow, n, element, shape.page_len, chunk + first * element);
      }
      kernels.narrow_kv(shape.type, v + at, n, narrow);
      for (const KvSlot& slot : slots) {
        std::byte* chunk = kv.page(slot.page) + shape.value_offset(layer, head);
        const size_t first = static_cast<size_t>(slot.offset) * shape.head_dim + channel;
        std::memcpy(chunk + first * element, narrow, n * element);
      }
    }
  }
}

}  // namespace

void write_kv(const Kernels& kernels, ThreadPool& pool, const KvView& kv, int layer, const float* k,
              const float* v, int64_t stride, std::span<const uint32_t> slot_begin,
              std::span<const KvSlot> slots) {
  PANDO_CHECK(!slot_begin.empty() && slot_begin.back() <= slots.size());
  const int64_t n_rows = static_cast<int64_t>(slot_begin.size()) - 1;
  pool.parallel_for((n_rows + kRowsEach - 1) / kRowsEach, [&](int64_t item, int) {
    const int64_t end = std::min(n_rows, (item + 1) * kRowsEach);
    for (int64_t row = item * kRowsEach; row < end; ++row) {
      const auto own = slots.subspan(slot_begin[row], slot_begin[row + 1] - slot_begin[row]);
      if (!own.empty()) write_row(kernels, kv, layer, k + row * stride, v + row * stride, own);
    }
  });
}

void copy_pages(const KvView& kv, std::span<const PageCopy> copies) {
  const KvShape& shape = kv.shape;
  const size_t element = dtype_size(shape.type);
  for (const PageCopy& copy : copies) {
    PANDO_CHECK(copy.n_positions <= static_cast<uint32_t>(shape.page_len));
    if (copy.n_positions == 0 || copy.from == copy.to) continue;
    const size_t n = copy.n_positions - fault_on(Fault::kCopyOneLaneShort);
    const std::byte* from = kv.page(copy.from);
    std::byte* to = kv.page(copy.to);
    for (int layer = 0; layer < shape.n_layers; ++layer) {
      for (int head = 0; head < shape.n_kv_heads; ++head) {
        size_t at = shape.key_offset(layer, head);
        for (int d = 0; d < shape.head_dim; ++d, at += shape.page_len * element)
          std::memcpy(to + at, from + at, n * element);
        at = shape.value_offset(layer, head);
        std::memcpy(to + at, from + at, n * shape.head_dim * element);
      }
    }
  }
}

}  // namespace pando::kernel
