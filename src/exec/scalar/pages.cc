#include "exec/scalar/pages.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/half.h"
#include "exec/scalar/matrix.h"

namespace pando::exec::scalar {
namespace {

size_t element_bytes(DType type) { return type == DType::kI8 ? 1 : kernel::kv_element_bytes(type); }

uint16_t narrowed(DType type, float x) {
  if (type == DType::kBF16) return f32_to_bf16(x);
  constexpr float kMost = 65504.0f;
  return f32_to_f16(x > kMost ? kMost : x < -kMost ? -kMost : x);  // NaN stays
}

}  // namespace

KvChannels::KvChannels(const kernel::KvView& view, Kind kind, int layer, int head, KvSlot slot)
    : shape_(view.shape) {
  PANDO_CHECK(slot.offset < static_cast<uint32_t>(shape_.page_len));
  const size_t chunk =
      kind == Kind::kKey ? shape_.key_offset(layer, head) : shape_.value_offset(layer, head);
  std::byte* const begin = view.page(slot.page) + chunk;
  const size_t n = static_cast<size_t>(shape_.head_dim);
  elements_ = begin + slot.offset * n * element_bytes(shape_.type);
  int8_scale_ = begin + shape_.page_len * n + slot.offset * sizeof(float);
}

void KvChannels::write(const float* x) const {
  const int n = shape_.head_dim;
  if (shape_.type == DType::kI8) {
    const Integers integers = quantise(x, n);
    std::memcpy(elements_, integers.q.data(), integers.q.size());
    std::memcpy(int8_scale_, &integers.scale, sizeof integers.scale);
    return;
  }
  if (shape_.type == DType::kF32) {
    std::memcpy(elements_, x, n * sizeof(float));
    return;
  }
  for (int i = 0; i < n; ++i) {
    const uint16_t bits = narrowed(shape_.type, x[i]);
    std::memcpy(elements_ + i * sizeof bits, &bits, sizeof bits);
  }
}

void KvChannels::read(float* x) const {
  const int n = shape_.head_dim;
  if (shape_.type == DType::kF32) {
    std::memcpy(x, elements_, n * sizeof(float));
    return;
  }
  for (int i = 0; i < n; ++i) {
    uint16_t bits;
    std::memcpy(&bits, elements_ + i * sizeof bits, sizeof bits);
    x[i] = shape_.type == DType::kF16 ? f16_to_f32(bits) : bf16_to_f32(bits);
  }
}

float KvChannels::int8_scale() const {
  float scale;
  std::memcpy(&scale, int8_scale_, sizeof scale);
  return scale;
}

void write_row(const LayerPages& pages, uint32_t row, const float* keys, const float* values) {
  const kernel::KvShape& shape = pages.view.shape;
  for (uint32_t i = pages.slot_begin[row]; i < pages.slot_begin[row + 1]; ++i)
    for (int head = 0; head < shape.n_kv_heads; ++head) {
      using enum KvChannels::Kind;
      const int at = head * shape.head_dim;
      KvChannels(pages.view, kKey, pages.layer, head, pages.slots[i]).write(keys + at);
      KvChannels(pages.view, kValue, pages.layer, head, pages.slots[i]).write(values + at);
    }
}

void copy_positions(const kernel::KvView& view, std::span<const PageCopy> copies) {
  const kernel::KvShape& shape = view.shape;
  const size_t element = element_bytes(shape.type), n = static_cast<size_t>(shape.head_dim);
  const size_t int8_scales = shape.page_len * n;
  for (const PageCopy& copy : copies) {
    PANDO_CHECK(copy.n_positions <= static_cast<uint32_t>(shape.page_len));
    if (copy.from == copy.to) continue;
    const size_t n_chunks = size_t{2} * shape.n_layers * shape.n_kv_heads;
    for (size_t chunk = 0; chunk < n_chunks; ++chunk) {
      const std::byte* const from = view.page(copy.from) + chunk * shape.chunk_bytes();
      std::byte* const to = view.page(copy.to) + chunk * shape.chunk_bytes();
      std::memcpy(to, from, copy.n_positions * n * element);
      if (shape.type == DType::kI8)
        std::memcpy(to + int8_scales, from + int8_scales, copy.n_positions * sizeof(float));
    }
  }
}

}  // namespace pando::exec::scalar
