#include <cmath>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/half.h"
#include "kernel/cpu/linear_layout.h"
#include "kernel/linear.h"

namespace pando::kernel {
namespace {

int strip_count(int n) { return (n + kStripLen - 1) / kStripLen; }

// To the nearest integer, ties to even, for |x| < 2^22.
float round_to_even(float x) { return (x + 0x1.8p23f) - 0x1.8p23f; }

// One row of the weights, unit by unit.
class RowWriter {
 public:
  RowWriter(std::byte* data, DType type, int n, int k, int row)
      : type_(type), strip_(row % kPanelLen / kStripLen), lane_(row % kStripLen) {
    const int panel = row / kPanelLen;
    const int strips_left = strip_count(n) - panel * kPanelStrips;
    n_strips_ = strips_left < kPanelStrips ? strips_left : kPanelStrips;
    unit_ = data + int64_t{panel} * kPanelStrips * unit_count(type, k) * unit_bytes(type);
  }

  // [k] elements of the matrix's own type, k even.
  template <class T>
  void copy(const T* from, int k) {
    const bool interleaved = type_ == DType::kBF16;
    for (int i = 0; i < k; i += 2, next_unit()) {
      T* to = reinterpret_cast<T*>(unit_ + strip_ * unit_bytes(type_));
      std::memcpy(&to[interleaved ? 2 * lane_ : lane_], from + i, sizeof(T));
      std::memcpy(&to[interleaved ? 2 * lane_ + 1 : kStripLen + lane_], from + i + 1, sizeof(T));
    }
  }

  // [k] f32; docs/arithmetic.md, "Q8_0 weights".
  void quantize(const float* from, int k) {
    const int n_groups = 2 * unit_count(type_, k);
    for (int g = 0; g < n_groups; ++g, from += kGroupLen, k -= kGroupLen) {
      float w[kGroupLen] = {};
      float amax = 0.0f;
      for (int i = 0; i < kGroupLen && i < k; ++i) {
        w[i] = from[i];
        amax = std::fabs(w[i]) > amax ? std::fabs(w[i]) : amax;
      }
      const uint16_t d = f32_to_f16(amax / 127.0f);
      const float inverse = f16_to_f32(d) == 0.0f ? 0.0f : 1.0f / f16_to_f32(d);
      const int first = g % 2 * n_strips_;  // of the group's strips
      std::byte* ints = unit_ + (first * kQuads + strip_) * kStripQuad + lane_ * 4;
      for (int i = 0; i < kGroupLen; ++i) {
        float q = w[i] * inverse;
        q = q < 127.0f ? q : 127.0f;
        q = -127.0f < q ? q : -127.0f;
        ints[i / 4 * n_strips_ * kStripQuad + i % 4] =
            static_cast<std::byte>(static_cast<int>(round_to_even(q)) + 128);
      }
      std::byte* scales = unit_ + n_strips_ * 2 * kQuads * kStripQuad;
      std::memcpy(scales + ((first + strip_) * kStripLen + lane_) * sizeof d, &d, sizeof d);
      if (g % 2 == 1) next_unit();
    }
  }

 private:
  void next_unit() { unit_ += n_strips_ * unit_bytes(type_); }

  DType type_;
  int strip_;
  int lane_;
  int n_strips_;     // of the row's panel
  std::byte* unit_;  // the panel's current unit
};

}  // namespace

PackedMatrix::PackedMatrix(DType type, int n, int k) : type_(type), n_(n), k_(k) {
  PANDO_CHECK(n > 0 && k > 0 && k % 2 == 0);
  const size_t n_units = static_cast<size_t>(strip_count(n)) * unit_count(type, k);
  data_ = AlignedBuffer(n_units * unit_bytes(type));
}

void PackedMatrix::set_rows(const Kernels& kernels, int first_row, int n_rows, DType from_type,
                            const void* from) {
  PANDO_CHECK(type_ == from_type || (type_ == DType::kQ8_0 && dtype_size(from_type) != 0));
  PANDO_CHECK(first_row >= 0 && n_rows >= 0 && first_row + n_rows <= n_);
  std::vector<float> wide(type_ == DType::kQ8_0 ? k_ : 0);
  const std::byte* row_data = static_cast<const std::byte*>(from);
  for (int row = first_row; row < first_row + n_rows;
       ++row, row_data += k_ * dtype_size(from_type)) {
    RowWriter writer(data_.data(), type_, n_, k_, row);
    if (type_ == DType::kQ8_0) {
      kernels.widen(from_type, row_data, k_, wide.data());
      writer.quantize(wide.data(), k_);
    } else if (type_ == DType::kF32) {
      writer.copy(reinterpret_cast<const float*>(row_data), k_);
    } else {
      writer.copy(reinterpret_cast<const uint16_t*>(row_data), k_);
    }
  }
}

}  // namespace pando::kernel
