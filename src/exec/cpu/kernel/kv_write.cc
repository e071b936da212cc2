#include "exec/cpu/kernel/kv_write.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/fault.h"
#include "exec/cpu/kernel/cpu/linear_layout.h"

namespace pando::kernel {
namespace {

// Sixteen channels at most, narrowed: [n] elements at `from` to channels of one position of a key
// chunk at `to`, page_len elements apart.
void scatter(const std::byte* from, int n, size_t element, size_t page_len, std::byte* to) {
  if (element == 2) {
    for (int i = 0; i < n; ++i) std::memcpy(to + i * page_len * 2, from + i * 2, 2);
  } else {
    for (int i = 0; i < n; ++i) std::memcpy(to + i * page_len * 4, from + i * 4, 4);
  }
}

// Bytes between neighbouring groups of four positions in an int8 value chunk.
size_t value_quad_bytes(const KvShape& shape) {
  return static_cast<size_t>(int8_element_bytes(4, shape.head_dim));
}

// Key and value of one head of a row, and the slots that get them.
struct HeadWrite {
  const KvView& kv;
  int layer, head;
  const float* k;  // [head_dim]
  const float* v;  // [head_dim]
  std::span<const KvSlot> slots;

  std::byte* key_chunk(PageId page) const {
    return kv.page(page) + kv.shape.key_offset(layer, head);
  }
  std::byte* value_chunk(PageId page) const {
    return kv.page(page) + kv.shape.value_offset(layer, head);
  }
};

void write_int8(const Kernels& kernels, const HeadWrite& of) {
  const KvShape& shape = of.kv.shape;
  const size_t n_channels = shape.head_dim, page_len = shape.page_len;
  const size_t scales = int8_element_bytes(shape.page_len, shape.head_dim);
  alignas(64) int8_t few[640];  // of heads no wider than any published ones
  std::vector<int8_t> many(n_channels > sizeof(few) ? (n_channels + 15) / 16 * 16 : 0);
  int8_t* const q = many.empty() ? few : many.data();
  float scale = kernels.quantize(of.k, shape.head_dim, q).scale;
  for (const KvSlot& slot : of.slots) {
    std::byte* chunk = of.key_chunk(slot.page);
    for (size_t d = 0; d < n_channels; d += 4) {
      uint32_t four;
      std::memcpy(&four, q + d, 4);
      four ^= 0x80808080u;  // each + 128
      std::memcpy(chunk + d * page_len + 4 * slot.offset, &four, 4);
    }
    std::memcpy(chunk + scales + 4 * slot.offset, &scale, 4);
  }
  scale = kernels.quantize(of.v, shape.head_dim, q).scale;
  for (const KvSlot& slot : of.slots) {
    std::byte* chunk = of.value_chunk(slot.page);
    std::byte* to = chunk + slot.offset / 4 * value_quad_bytes(shape) + slot.offset % 4;
    for (size_t d = 0; d < n_channels; ++d) to[4 * d] = static_cast<std::byte>(q[d]);
    std::memcpy(chunk + scales + 4 * slot.offset, &scale, 4);
  }
}

void write_float(const Kernels& kernels, const HeadWrite& of) {
  const KvShape& shape = of.kv.shape;
  const size_t element = kv_element_bytes(shape.type);
  alignas(64) std::byte narrow[16 * sizeof(float)];
  for (int channel = 0; channel < shape.head_dim; channel += 16) {
    const int n = std::min(16, shape.head_dim - channel);
    kernels.narrow_kv(shape.type, of.k + channel, n, narrow);
    for (const KvSlot& slot : of.slots) {
      std::byte* chunk = of.key_chunk(slot.page);
      const size_t first = static_cast<size_t>(channel) * shape.page_len + slot.offset;
      scatter(narrow, n, element, shape.page_len, chunk + first * element);
    }
    kernels.narrow_kv(shape.type, of.v + channel, n, narrow);
    for (const KvSlot& slot : of.slots) {
      std::byte* chunk = of.value_chunk(slot.page);
      const size_t first = static_cast<size_t>(slot.offset) * shape.head_dim + channel;
      std::memcpy(chunk + first * element, narrow, n * element);
    }
  }
}

}  // namespace

void write_kv_rows(const Kernels& kernels, const KvWrite& write, uint32_t begin, uint32_t end) {
  const KvShape& shape = write.kv.shape;
  const auto write_head = shape.type == DType::kI8 ? write_int8 : write_float;
  // Head by head, so that neighbouring rows fill the same lines of a key chunk one after the other.
  for (int head = 0; head < shape.n_kv_heads; ++head) {
    for (uint32_t row = begin; row < end; ++row) {
      const uint32_t first = write.slot_begin[row], n_slots = write.slot_begin[row + 1] - first;
      const int64_t at = row * write.keys.stride + int64_t{head} * shape.head_dim;
      if (n_slots > 0)
        write_head(kernels, {write.kv, write.layer, head, write.keys.k + at, write.keys.v + at,
                             write.slots.subspan(first, n_slots)});
    }
  }
}

void write_kv(const Kernels& kernels, ThreadPool& pool, const KvWrite& write) {
  PANDO_CHECK(!write.slot_begin.empty() && write.slot_begin.back() <= write.slots.size());
  const auto n_rows = static_cast<uint32_t>(write.slot_begin.size()) - 1;
  pool.parallel_runs((n_rows + kKvRowsEach - 1) / kKvRowsEach, [&](int64_t item, int) {
    const uint32_t begin = static_cast<uint32_t>(item) * kKvRowsEach;
    write_kv_rows(kernels, write, begin, std::min(n_rows, begin + kKvRowsEach));
  });
}

namespace {

// The first n positions of a chunk of keys, and of one of values.
void copy_keys(const KvShape& shape, size_t n, const std::byte* from, std::byte* to) {
  const bool int8 = shape.type == DType::kI8;
  const size_t element = int8 ? 4 : kv_element_bytes(shape.type);
  const size_t n_rows = int8 ? shape.head_dim / 4 : shape.head_dim;
  for (size_t at = 0; at < n_rows * shape.page_len * element; at += shape.page_len * element)
    std::memcpy(to + at, from + at, n * element);
}
void copy_values(const KvShape& shape, size_t n, const std::byte* from, std::byte* to) {
  if (shape.type != DType::kI8) {
    std::memcpy(to, from, n * shape.head_dim * kv_element_bytes(shape.type));
    return;
  }
  const size_t n_whole = n / 4 * value_quad_bytes(shape);
  std::memcpy(to, from, n_whole);
  for (size_t d = 0; d < static_cast<size_t>(shape.head_dim) && n % 4 != 0; ++d)
    std::memcpy(to + n_whole + 4 * d, from + n_whole + 4 * d, n % 4);
}
void copy_scales(const KvShape& shape, size_t n, const std::byte* from, std::byte* to) {
  if (shape.type != DType::kI8) return;
  const size_t at = int8_element_bytes(shape.page_len, shape.head_dim);
  std::memcpy(to + at, from + at, n * sizeof(float));
}

}  // namespace

void copy_pages(const KvView& kv, std::span<const PageCopy> copies) {
  const KvShape& shape = kv.shape;
  for (const PageCopy& copy : copies) {
    PANDO_CHECK(copy.n_positions <= static_cast<uint32_t>(shape.page_len));
    if (copy.n_positions == 0 || copy.from == copy.to) continue;
    const size_t n = copy.n_positions - fault_on(Fault::kCopyOneLaneShort);
    for (int layer = 0; layer < shape.n_layers; ++layer) {
      for (int head = 0; head < shape.n_kv_heads; ++head) {
        const std::byte* from = kv.page(copy.from);
        std::byte* to = kv.page(copy.to);
        const size_t keys = shape.key_offset(layer, head), values = shape.value_offset(layer, head);
        copy_keys(shape, n, from + keys, to + keys);
        copy_scales(shape, n, from + keys, to + keys);
        copy_values(shape, n, from + values, to + values);
        copy_scales(shape, n, from + values, to + values);
      }
    }
  }
}

}  // namespace pando::kernel
