#include "exec/gpu/matrix.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "base/half.h"
#include "base/numbers/group_form.h"

namespace pando::exec::gpu {
namespace {

constexpr int kGroup = 32, kTile = 8;  // inputs that share a scale; outputs of a tile

WeightForm form_of(DType type) {
  if (type == DType::kI8) return WeightForm::kIntegerRows;
  if (type == DType::kF32) return WeightForm::kF32;
  if (type == DType::kF16) return WeightForm::kF16;
  if (type == DType::kBF16) return WeightForm::kBF16;
  if (type == DType::kBF16Dot) return WeightForm::kDot;
  const GroupForm form = group_form(type);
  if (form.code_bits == 8) return WeightForm::kBytes;
  if (form.code_bits == 5) return WeightForm::kFives;
  if (form.code_bits == 6) return WeightForm::kSixes;
  return has_code_table(type) ? WeightForm::kTable : WeightForm::kNibbles;
}

size_t padded(int n) { return static_cast<size_t>(n + kTile - 1) / kTile * kTile; }

template <class T>
Buffer buffer_of(Host& host, const std::vector<T>& from) {
  Buffer buffer(host, from.size() * sizeof(T));
  host.write(buffer, 0, from.data(), buffer.bytes());
  return buffer;
}

// [n, n_pieces, piece_len] becomes [n / 8, n_pieces, 8, piece_len]. Zeros follow the last row, and
// the last of a row's k elements.
template <class T>
std::vector<T> tiled(std::span<const T> from, int n, size_t k, size_t piece_len) {
  const size_t n_pieces = (k + piece_len - 1) / piece_len;
  std::vector<T> to(padded(n) * n_pieces * piece_len);
  for (int row = 0; row < n; ++row)
    for (size_t piece = 0; piece < n_pieces; ++piece) {
      const size_t first = piece * piece_len, count = std::min(piece_len, k - first);
      const size_t at = (row / kTile * n_pieces + piece) * kTile + row % kTile;
      std::copy_n(from.data() + row * k + first, count, to.data() + at * piece_len);
    }
  return to;
}

Buffer narrowed(Host& host, const std::vector<float>& values, uint16_t (*narrow)(float)) {
  std::vector<uint16_t> to(values.size());
  std::ranges::transform(values, to.begin(), narrow);
  return buffer_of(host, to);
}

bool all_f16(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) {
    return std::bit_cast<uint32_t>(f16_to_f32(f32_to_f16(value))) == std::bit_cast<uint32_t>(value);
  });
}

Buffer values_of(Host& host, const scalar::Matrix& from, WeightForm form) {
  const std::vector<float> tiles = tiled(from.values(), from.n(), from.k(), 8);
  if (form == WeightForm::kF32) return buffer_of(host, tiles);
  return narrowed(host, tiles, form == WeightForm::kF16 ? f32_to_f16 : f32_to_bf16);
}

// Integers as bytes: 16 of each output of a tile in turn.
Buffer bytes_of(Host& host, const scalar::Matrix& from) {
  const size_t n_integers = from.integers().size() / from.n();
  std::vector<int8_t> even(from.integers().begin(), from.integers().end());
  const size_t whole = (n_integers + kGroup - 1) / kGroup * kGroup;
  if (whole != n_integers) {  // only rows with one scale can end inside a group
    even.assign(from.n() * whole, 0);
    for (int row = 0; row < from.n(); ++row)
      std::copy_n(from.integers().data() + row * n_integers, n_integers, even.data() + row * whole);
  }
  return buffer_of(host, tiled(std::span<const int8_t>(even), from.n(), whole, kGroup / 2));
}

// code_of for each integer: its stored code, or its place in a table.
template <class Code>
std::vector<uint8_t> codes_of(const scalar::Matrix& from, const Code& code_of) {
  std::vector<uint8_t> codes(from.integers().size());
  std::ranges::transform(from.integers(), codes.begin(),
                         [&](int8_t q) { return static_cast<uint8_t>(code_of(q)); });
  return codes;
}

// The low four bits of codes, sixteen bytes for each group. A byte has two codes: neighbours if
// in_order, else codes i and i + 16.
Buffer nibbles_of(Host& host, const std::vector<uint8_t>& codes, int n, bool in_order) {
  std::vector<uint8_t> packed(codes.size() / 2);
  for (size_t i = 0; i < packed.size(); ++i) {
    const size_t group = i / (kGroup / 2) * kGroup, byte = i % (kGroup / 2);
    const size_t low = group + (in_order ? 2 * byte : byte);
    const size_t high = in_order ? low + 1 : low + kGroup / 2;
    packed[i] = static_cast<uint8_t>((codes[low] & 15) | codes[high] << 4);
  }
  const std::span<const uint8_t> bytes(packed);
  return buffer_of(host, tiled(bytes, n, bytes.size() / n, kGroup / 2));
}

// The bits above the low four: n_bits of each code, in words of 32 bits.
Buffer high_bits_of(Host& host, const std::vector<uint8_t>& codes, int n, int n_bits) {
  const size_t word_len = 32 / n_bits;
  std::vector<uint32_t> words(codes.size() / word_len);
  for (size_t i = 0; i < codes.size(); ++i) {
    const size_t at = i % word_len, shift = at % 4 * 8 + at / 4 * n_bits;
    words[i / word_len] |= static_cast<uint32_t>(codes[i] >> 4) << shift;
  }
  const std::span<const uint32_t> all(words);
  return buffer_of(host, tiled(all, n, all.size() / n, 1));
}

std::array<uint32_t, 4> table_of(DType type, int8_t (&integers)[16]) {
  std::array<uint32_t, 4> words = {};
  for (int i = 0; i < 16; ++i)
    integers[i] = static_cast<int8_t>(code_table(type)[i] - group_form(type).offset);
  std::memcpy(words.data(), integers, sizeof words);
  return words;
}

Buffer factors_of(Host& host, const scalar::Matrix& from) {
  std::vector<uint16_t> pairs(from.factors().size() / 2);
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto byte = [&](size_t at) {
      return static_cast<uint8_t>(static_cast<int8_t>(from.factors()[at]));
    };
    pairs[i] = static_cast<uint16_t>(byte(2 * i) | byte(2 * i + 1) << 8);
  }
  const std::span<const uint16_t> all(pairs);
  return buffer_of(host, tiled(all, from.n(), all.size() / from.n(), 1));
}

}  // namespace

Matrix Matrix::pack(Host& host, const scalar::Matrix& from) {
  Matrix to;
  to.type_ = from.type();
  to.n_ = from.n();
  to.k_ = from.k();
  to.form_ = form_of(from.type());
  const GroupForm form = group_form(from.type());
  if (!from.values().empty()) {
    to.words_ = values_of(host, from, to.form_);
    return to;
  }
  if (to.form_ == WeightForm::kTable) {
    int8_t integers[16];
    to.table_ = table_of(from.type(), integers);
    const auto codes = codes_of(
        from, [&](int8_t q) { return std::ranges::find(integers, q) - std::begin(integers); });
    to.words_ = nibbles_of(host, codes, from.n(), true);
  } else if (form.code_bits >= 4 && form.code_bits < 8) {
    to.table_[0] = static_cast<uint32_t>(form.offset);
    const auto codes = codes_of(from, [&](int8_t q) { return q + form.offset; });
    to.words_ = nibbles_of(host, codes, from.n(), false);
    if (form.code_bits > 4) to.high_ = high_bits_of(host, codes, from.n(), form.code_bits - 4);
  } else {
    to.words_ = bytes_of(host, from);
  }
  to.scales_are_f16_ =
      to.form_ != WeightForm::kIntegerRows && all_f16(from.scales()) && all_f16(from.minima());
  const auto scales = [&](std::span<const float> of) {
    if (of.empty()) return Buffer();
    const std::vector<float> tiles = tiled(of, from.n(), of.size() / from.n(), 1);
    return to.scales_are_f16_ ? narrowed(host, tiles, f32_to_f16) : buffer_of(host, tiles);
  };
  to.scales_ = scales(from.scales());
  to.minima_ = scales(from.minima());
  if (!from.factors().empty()) to.factors_ = factors_of(host, from);
  return to;
}

}  // namespace pando::exec::gpu
