#include "exec/cpu/kernel/packed_matrix.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/check.h"
#include "base/half.h"
#include "base/memory_nodes.h"
#include "base/numbers/block_codes.h"
#include "base/numbers/weight_types.h"
#include "exec/cpu/kernel/cpu/linear_layout.h"
#include "exec/cpu/kernel/read_weights.h"

namespace pando::kernel {

DType packed_type(DType stored) {
  const WeightTypeInfo& info = info_of(stored);
  return info.read_block == nullptr ? info.codes : DType::kQ8_0;
}

namespace {

int strip_count(int n) { return (n + kStripLen - 1) / kStripLen; }

// Rounds to the nearest integer, ties to even, for |x| < 2^22.
float round_to_even(float x) { return (x + 0x1.8p23f) - 0x1.8p23f; }

// x in [least, most]; most where it is not a number.
int8_t round_into(float x, float least, float most) {
  x = x < most ? x : most;
  return static_cast<int8_t>(round_to_even(least < x ? x : least));
}

// Compares magnitudes as integers, which have the same order: NaN is the largest.
float amax_of(const float* x, int n) {
  uint32_t amax = 0;
  for (int i = 0; i < n; ++i) amax = std::max(amax, std::bit_cast<uint32_t>(x[i]) & 0x7FFF'FFFFu);
  return std::bit_cast<float>(amax);
}

// docs/arithmetic.md, "Q8_0 weights" and "Q4_0 weights". w: [n] f32, n <= 32.
BlockCodes quantize_group(DType type, const float* w, int n) {
  BlockCodes group;
  if (type == DType::kQ8_0) {
    group.d = f32_to_f16(amax_of(w, n) / 127.0f);
  } else {
    float most = 0.0f;  // of the largest magnitude, with its sign
    for (int i = 0; i < n; ++i) most = std::fabs(w[i]) > std::fabs(most) ? w[i] : most;
    group.d = f32_to_f16(most / -8.0f);
  }
  const float d = f16_to_f32(group.d), inverse = d == 0.0f ? 0.0f : 1.0f / d;
  const float least = type == DType::kQ8_0 ? -127.0f : -8.0f;
  const float largest = type == DType::kQ8_0 ? 127.0f : 7.0f;
  const int offset = group_form(type).offset;
  for (int i = 0; i < kGroupLen; ++i)
    group.q[i] = static_cast<uint8_t>(
        offset + (i < n ? round_into(w[i] * inverse, least, largest) : int8_t{0}));
  return group;
}

// One row of the weights, unit by unit.
class RowWriter {
 public:
  RowWriter(std::byte* data, DType type, int n, int k, int row)
      : type_(type),
        form_(group_form(type)),
        k_(k),
        strip_(row % kPanelLen / kStripLen),
        lane_(row % kStripLen) {
    const int panel = row / kPanelLen;
    n_strips_ = std::min(strip_count(n) - panel * kPanelStrips, kPanelStrips);
    unit_ = data + panel * kPanelStrips * strip_bytes(type, k);
  }

  // [k] elements of the matrix's own type T at any byte, k even.
  template <class T>
  void copy(const std::byte* from) {
    const bool interleaved = type_ == DType::kBF16 || type_ == DType::kBF16Dot;
    for (int i = 0; i < k_; i += 2, next_unit()) {
      T* to = reinterpret_cast<T*>(unit_ + strip_ * unit_bytes(type_));
      std::memcpy(&to[interleaved ? 2 * lane_ : lane_], from + i * sizeof(T), sizeof(T));
      std::memcpy(&to[interleaved ? 2 * lane_ + 1 : kStripLen + lane_], from + (i + 1) * sizeof(T),
                  sizeof(T));
    }
  }

  // Narrows [k] f32 to elements. True if all are finite afterwards.
  bool narrow(const float* from) {
    if (type_ == DType::kF32) copy<float>(reinterpret_cast<const std::byte*>(from));
    if (type_ == DType::kF32)
      return std::all_of(from, from + k_, [](float w) { return std::isfinite(w); });
    std::vector<uint16_t> bits(k_);
    bool finite = true;
    for (int i = 0; i < k_; ++i) {
      const bool is_zero = type_ == DType::kBF16Dot && std::fabs(from[i]) < kLeastDot;
      const float w = is_zero ? 0.0f : from[i];
      bits[i] = type_ == DType::kF16 ? f32_to_f16(w) : f32_to_bf16(w);
      finite = finite &&
               std::isfinite(type_ == DType::kF16 ? f16_to_f32(bits[i]) : bf16_to_f32(bits[i]));
    }
    copy<uint16_t>(reinterpret_cast<const std::byte*>(bits.data()));
    return finite;
  }

  // [k] weights in blocks of a type that is packed as the matrix's.
  void copy_blocks(const WeightTypeInfo& info, const std::byte* from) {
    BlockCodes block;
    for (int i = 0; i < k_; i += info.block_len, from += info.block_bytes) {
      info.read_codes(from, block);
      put(block, info.block_len / kGroupLen);
    }
  }

  // Quantises [k] f32 (docs/arithmetic.md). True if every scale is finite.
  bool quantize(const float* from) {
    if (type_ == DType::kI8) {
      quantize_row(from);
      return std::isfinite(amax_of(from, k_));
    }
    bool finite = true;
    for (int g = 0; g * kGroupLen < k_; ++g) {
      const float* w = from + g * kGroupLen;
      const int n = std::min(kGroupLen, k_ - g * kGroupLen);
      const BlockCodes group = quantize_group(type_, w, n);
      finite = finite && std::isfinite(f16_to_f32(group.d)) && std::isfinite(amax_of(w, n));
      put(group, 1);
    }
    return finite;
  }

 private:
  void put(const BlockCodes& block, int n_groups) {
    if (unit_head_bytes(type_) > 0) {
      const uint16_t heads[] = {block.d, static_cast<uint16_t>(block.m ^ 0x8000)};  // m is negated
      for (int i = 0; i < form_.heads; ++i)
        put_f16(unit_ + strip_ * unit_head_bytes(type_), i, heads[i]);
      unit_ += n_strips_ * unit_head_bytes(type_);
    }
    for (int g = 0; g < n_groups; ++g) {
      put_integers(block.q + g * kGroupLen);
      put_factors(block, g);
      if (second_) unit_ += n_strips_ * (pair_integer_bytes(type_) + 2 * group_scale_bytes(type_));
      second_ = !second_;
    }
  }

  // q: [32], as they are stored.
  void put_integers(const uint8_t* q) {
    const int n_upper = upper_vectors(type_);
    const int stride = n_strips_ * kStripQuad, n_vectors = group_vectors(type_);
    std::byte* to = unit_ + (second_ * n_strips_ * n_vectors + strip_) * kStripQuad + lane_ * 4;
    for (int vector = 0; vector < n_vectors; ++vector, to += stride) {
      const uint32_t bytes = !is_halves(type_)  ? quad(q, vector)
                             : vector < n_upper ? upper_bits(q, vector)
                                                : halves(q, vector - n_upper);
      std::memcpy(to, &bytes, sizeof bytes);
    }
  }
  // Four integers at once, one to a byte.
  static uint32_t quad(const uint8_t* q, int index) {
    uint32_t four;
    std::memcpy(&four, q + 4 * index, sizeof four);
    return four;
  }
  uint32_t halves(const uint8_t* q, int vector) const {
    return (quad(q, half_quad(type_, vector, false)) & kLowHalves) |
           (quad(q, half_quad(type_, vector, true)) & kLowHalves) << 4;
  }
  // Upper bits of all quads, or of four of them.
  uint32_t upper_bits(const uint8_t* q, int part) const {
    const int each = form_.code_bits - 4, n = 8 / each;
    uint32_t bits = 0;
    for (int i = 0; i < n; ++i) bits |= (quad(q, part * n + i) >> 4 & kLowHalves) << (each * i);
    return bits;
  }

  void put_factors(const BlockCodes& block, int group) {
    std::byte* to = unit_ + n_strips_ * pair_integer_bytes(type_) +
                    (second_ * n_strips_ + strip_) * group_scale_bytes(type_);
    if (form_.heads == 0 && form_.factor_bytes > 1) {
      put_f16(to, 0, block.d);
      if (form_.minima) put_f16(to, 1, block.m);
      return;
    }
    const int n = kGroupLen / form_.factor_len;
    for (int i = 0; i < n; ++i)
      to[i * kStripLen + lane_] = static_cast<std::byte>(block.scales[group * n + i]);
    if (form_.minima) to[kStripLen + lane_] = static_cast<std::byte>(block.minima[group]);
  }

  // Writes to array `index` of the arrays at `to`, each with all outputs of the strip.
  void put_f16(std::byte* to, int index, uint16_t bits) const {
    std::memcpy(to + (index * kStripLen + lane_) * sizeof bits, &bits, sizeof bits);
  }

  void quantize_row(const float* from) {
    float amax = amax_of(from, k_);
    if (amax < 0x1p-100f) amax = 0.0f;
    const float factor = amax == 0.0f ? 0.0f : 127.0f / amax, d = amax / 127.0f;
    std::byte* ints = unit_ + strip_ * kStripQuad + lane_ * 4;
    for (int i = 0; i < unit_count(type_, k_) * unit_len(type_); ++i) {
      const int q = i < k_ ? round_into(from[i] * factor, -127.0f, 127.0f) : 0;
      ints[int64_t{i / 4} * n_strips_ * kStripQuad + i % 4] = static_cast<std::byte>(q + 128);
    }
    std::byte* scales = unit_ + n_strips_ * (strip_bytes(type_, k_) - strip_tail_bytes(type_));
    std::memcpy(scales + (strip_ * kStripLen + lane_) * sizeof d, &d, sizeof d);
  }

  void next_unit() { unit_ += n_strips_ * unit_bytes(type_); }

  static constexpr uint32_t kLowHalves = 0x0f0f0f0f;

  DType type_;
  GroupForm form_;
  int k_;
  int strip_;
  int lane_;
  int n_strips_;         // of the row's panel
  std::byte* unit_;      // the panel's current unit, or pair of groups
  bool second_ = false;  // group of the pair
};

}  // namespace

int PackedMatrix::max_inputs(DType type) {
  return type == DType::kI8 ? kMaxInt8Inputs : std::numeric_limits<int>::max();
}

PackedMatrix::PackedMatrix(DType type, int n, int k) : type_(type), n_(n), k_(k) {
  PANDO_CHECK(n > 0 && k > 0 && k % 2 == 0 && k <= max_inputs(type));
  const WeightTypeInfo& info = info_of(type);
  PANDO_CHECK(packed_type(type) == type && (info.made_as || k % info.block_len == 0));
  data_ = AlignedBuffer::beside_others(static_cast<size_t>(strip_count(n) * strip_bytes(type, k)));
  MemoryNodes::here().spread(data_);
}

bool PackedMatrix::set_rows(const Kernels& kernels, int first_row, int n_rows, DType from_type,
                            const void* from) {
  const WeightTypeInfo& stored = info_of(from_type);
  const bool made = !stored.becomes(type_);
  PANDO_CHECK((!made || info_of(type_).made_as) && stored.is_in_files());
  PANDO_CHECK(first_row >= 0 && n_rows >= 0 && first_row + n_rows <= n_);
  PANDO_CHECK(k_ % block_len(from_type) == 0);
  std::vector<float> wide(made ? k_ : 0);
  const std::byte* row_data = static_cast<const std::byte*>(from);
  bool finite = true;
  for (int row = first_row; row < first_row + n_rows;
       ++row, row_data += stored_bytes(from_type, k_)) {
    RowWriter writer(data_.data(), type_, n_, k_, row);
    if (made) {
      read_weights(kernels, from_type, row_data, k_, wide.data());
      finite = (is_quantized(type_) ? writer.quantize(wide.data()) : writer.narrow(wide.data())) &&
               finite;
    } else if (is_quantized(type_)) {
      writer.copy_blocks(stored, row_data);
    } else if (type_ == DType::kF32) {
      writer.copy<float>(row_data);
    } else {
      writer.copy<uint16_t>(row_data);
    }
  }
  return finite;
}

}  // namespace pando::kernel
