#include "model/quantized_matrix.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <initializer_list>

#include "base/errors.h"
#include "base/half.h"
#include "base/numbers/weight_types.h"

namespace pando::model {
namespace {

constexpr int64_t kBlockLen = 32;  // of the types that hold integers

struct PartNames {
  std::string_view weights;
  std::array<std::string_view, 2> scales;  // either
  std::string_view zeros, order;
};

PartNames names_of(QuantizedLayout layout) {
  switch (layout) {
    case QuantizedLayout::kElements:
      return {"weight", {"weight_scale", "weight_scale_inv"}, "weight_zero_point", "weight_g_idx"};
    case QuantizedLayout::kWords:
      return {"weight_packed", {"weight_scale", ""}, "weight_zero_point", "weight_g_idx"};
    case QuantizedLayout::kBlocks:
      return {"blocks", {"scales", ""}, "", ""};
    case QuantizedLayout::kAwq:
    case QuantizedLayout::kGptq:
      break;
  }
  return {"qweight", {"scales", ""}, "qzeros", "g_idx"};
}

int64_t rounded_up(int64_t n, int64_t divisor) { return (n + divisor - 1) / divisor; }

template <class T>
T element_at(const std::byte* data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * static_cast<int64_t>(sizeof value), sizeof value);
  return value;
}

const StoredTensor* part_of_matrix(const StoredParts& parts, std::string_view name) {
  const auto found = parts.find(name);
  return found == parts.end() ? nullptr : &found->second;
}

// Sizes of 1 may be missing or more.
bool same_but_ones(std::vector<int64_t> a, std::vector<int64_t> b) {
  std::erase(a, 1);
  std::erase(b, 1);
  return a == b;
}

Status check_type(const StoredTensor& tensor, std::initializer_list<std::string_view> types) {
  if (std::ranges::find(types, tensor.entry->dtype) != types.end()) return {};
  return in_tensor(tensor.where, unsupported("has dtype {}, expected {}", tensor.entry->dtype,
                                             one_of_these(std::vector<std::string_view>(types))));
}

Status check_shape(const StoredTensor& tensor, const std::vector<int64_t>& shape) {
  if (same_but_ones(tensor.entry->shape, shape)) return {};
  return in_tensor(tensor.where, bad_file("has shape {}, expected {}",
                                          shape_text(tensor.entry->shape), shape_text(shape)));
}

// Shape of the integers for [n, k] in each layout and scheme.
std::vector<int64_t> weights_shape(const WeightScheme& s, int64_t n, int64_t k) {
  switch (s.layout) {
    case QuantizedLayout::kElements:
      break;
    case QuantizedLayout::kWords:
      return {n, rounded_up(k * s.bits, 32)};
    case QuantizedLayout::kAwq:
      return {k, rounded_up(n * s.bits, 32)};
    case QuantizedLayout::kGptq:
      return {rounded_up(k * s.bits, 32), n};
    case QuantizedLayout::kBlocks:
      return {n, rounded_up(k, kBlockLen), kBlockLen / 2};
  }
  return {n, k};
}
int64_t column_groups(const WeightScheme& s, int64_t k) {
  return s.block_columns == 0 ? 1 : rounded_up(k, s.block_columns);
}
std::vector<int64_t> scales_shape(const WeightScheme& s, int64_t n, int64_t k) {
  if (s.layout == QuantizedLayout::kAwq || s.layout == QuantizedLayout::kGptq)
    return {column_groups(s, k), n};
  return {s.block_rows == 0 ? 1 : rounded_up(n, s.block_rows), column_groups(s, k)};
}
std::vector<int64_t> zero_words_shape(const WeightScheme& s, int64_t n, int64_t k) {
  const int64_t groups = column_groups(s, k), words = rounded_up(n * s.bits, 32);
  if (s.layout == QuantizedLayout::kWords) return {words, groups};
  return {groups, words};
}

std::vector<int64_t> stacked(std::vector<int64_t> shape, const StackPlace& place) {
  if (place.n_stacked > 0) shape.insert(shape.begin(), place.n_stacked);
  return shape;
}

// Position of output i within a word of AWQ.
constexpr int64_t kAwqWord = 8;
constexpr int kAwqPlace[kAwqWord] = {0, 4, 1, 5, 2, 6, 3, 7};

// float8_e4m3fn: 4 bits of exponent, 3 of mantissa, no infinity.
float widened_e4m3(uint8_t bits) {
  const int exponent = bits >> 3 & 15, mantissa = bits & 7;
  if ((bits & 0x7f) == 0x7f) return std::nanf("");
  const float magnitude = exponent == 0
                              ? std::ldexp(static_cast<float>(mantissa), -9)
                              : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  return bits & 0x80 ? -magnitude : magnitude;
}

const std::vector<float>& e4m3_table() {
  static const std::vector<float> table = [] {
    std::vector<float> all;
    for (int bits = 0; bits < 256; ++bits) all.push_back(widened_e4m3(static_cast<uint8_t>(bits)));
    return all;
  }();
  return table;
}

// One block of weights (base/numbers/block_codes.h). q: [32] integers that the type can hold.
std::byte* put_block(DType type, float scale, const int* q, std::byte* to) {
  const uint16_t d = f32_to_f16(scale);
  std::memcpy(to, &d, sizeof d);
  to += sizeof d;
  if (type == DType::kQ8_0) {
    for (int64_t i = 0; i < kBlockLen; ++i) *to++ = static_cast<std::byte>(q[i]);
    return to;
  }
  const int offset = type == DType::kQ4_0 ? 8 : 16;
  if (type == DType::kQ5_0) {
    uint32_t high = 0;
    for (int i = 0; i < kBlockLen; ++i)
      high |= (static_cast<uint32_t>(q[i] + offset) >> 4 & 1) << i;
    std::memcpy(to, &high, sizeof high);
    to += sizeof high;
  }
  for (int i = 0; i < kBlockLen / 2; ++i)
    *to++ = static_cast<std::byte>(((q[i] + offset) & 15) | ((q[i + kBlockLen / 2] + offset) & 15)
                                                                << 4);
  return to;
}

}  // namespace

bool has_quantized_weights(std::string_view part, std::string_view dtype) {
  return part == "qweight" || part == "weight_packed" ||
         (part == "weight" && (dtype == "I8" || dtype.starts_with("F8_")));
}

bool belongs_to_quantized_weights(std::string_view part) {
  constexpr std::string_view kParts[] = {
      "weight_scale",
      "weight_scale_inv",
      "weight_zero_point",
      "weight_g_idx",
      "weight_shape",
      "scales",
      "qzeros",
      "g_idx",
      "input_scale",
      "input_zero_point",
      "activation_scale",
      "output_scale",
      "output_zero_point",
  };
  return std::ranges::find(kParts, part) != std::end(kParts);
}

Result<std::shared_ptr<const QuantizedMatrix>> QuantizedMatrix::open(
    const TensorPlace& where, const StoredParts& parts, const Quantization& quantization, int64_t n,
    int64_t k, const RowOrder& columns, const StackPlace& place) {
  // The scheme is the first whose shapes the tensors have, or of these layouts the first at all.
  const WeightScheme* chosen = nullptr;
  for (const WeightScheme& scheme : quantization.schemes) {
    const PartNames names = names_of(scheme.layout);
    const StoredTensor* weights = part_of_matrix(parts, names.weights);
    if (weights == nullptr || (scheme.layout == QuantizedLayout::kElements &&
                               scheme.is_float != (weights->entry->dtype != "I8")))
      continue;
    bool fits = same_but_ones(weights->entry->shape, stacked(weights_shape(scheme, n, k), place));
    for (const std::string_view name : names.scales)
      if (const StoredTensor* scales = part_of_matrix(parts, name))
        fits =
            fits && same_but_ones(scales->entry->shape, stacked(scales_shape(scheme, n, k), place));
    if (chosen == nullptr || fits) chosen = &scheme;
    if (fits) break;
  }
  if (chosen == nullptr)
    return in_tensor(
        where, unsupported("is quantised, expected a format that 'quantization_config' describes"));
  std::shared_ptr<QuantizedMatrix> matrix(new QuantizedMatrix());
  matrix->scheme_ = *chosen;
  matrix->widened_ = quantization.widened;
  matrix->n_ = n;
  matrix->k_ = k;
  if (Status status = matrix->take(where, parts, quantization.zeros_less_one, place); !status)
    return status.error();
  const StoredTensor* order = part_of_matrix(parts, names_of(chosen->layout).order);
  if (Status status = matrix->take_order(order == nullptr ? StoredTensor() : *order, columns);
      !status)
    return status.error();
  matrix->dtype_ = matrix->exact_type();
  return std::shared_ptr<const QuantizedMatrix>(std::move(matrix));
}

// The tensors, with their types and shapes checked.
Status QuantizedMatrix::take(const TensorPlace& where, const StoredParts& parts,
                             bool zeros_less_one, const StackPlace& place) {
  const PartNames names = names_of(scheme_.layout);
  const bool is_elements = scheme_.layout == QuantizedLayout::kElements;
  const bool is_blocks = scheme_.layout == QuantizedLayout::kBlocks;
  if (is_blocks && k_ % kBlockLen != 0)
    return in_tensor(where,
                     unsupported("has rows of {}, expected a multiple of {}", k_, kBlockLen));
  if (!is_blocks && place.n_stacked > 0)
    return in_tensor(
        where,
        unsupported("holds quantised matrices of all experts, expected one tensor for each"));
  weights_ = *part_of_matrix(parts, names.weights);
  for (const std::string_view name : names.scales)
    if (const StoredTensor* scales = part_of_matrix(parts, name)) scales_ = *scales;
  if (const StoredTensor* zeros = part_of_matrix(parts, names.zeros)) zeros_ = *zeros;
  const auto missing = [&](std::string_view name) {
    return in_tensor(where, bad_file("is quantised and has no tensor '{}', expected one", name));
  };
  if (scales_.data == nullptr) return missing(names.scales[0]);
  if (scheme_.has_zeros && zeros_.data == nullptr) return missing(names.zeros);
  Status status = is_elements ? check_type(weights_, {scheme_.is_float ? "F8_E4M3" : "I8"})
                              : check_type(weights_, {is_blocks ? "U8" : "I32"});
  if (status) status = check_shape(weights_, stacked(weights_shape(scheme_, n_, k_), place));
  if (status)
    status = is_blocks ? check_type(scales_, {"U8"}) : check_type(scales_, {"F32", "F16", "BF16"});
  if (status) status = check_shape(scales_, stacked(scales_shape(scheme_, n_, k_), place));
  if (status && zeros_.data != nullptr) status = take_zeros();
  if (!status) return status;
  if (const StoredTensor* shape = part_of_matrix(parts, "weight_shape")) {
    if (status = check_type(*shape, {"I64"}); !status) return status;
    if (status = check_shape(*shape, {2}); !status) return status;
    const int64_t sizes[] = {element_at<int64_t>(shape->data, 0),
                             element_at<int64_t>(shape->data, 1)};
    if (sizes[0] != n_ || sizes[1] != k_)
      return in_tensor(shape->where,
                       bad_file("is {}, expected [{}, {}]", shape_text(sizes), n_, k_));
  }
  const auto part_of = [&](StoredTensor& tensor) {
    if (place.n_stacked == 0) return tensor.entry->n_bytes;  // a tensor of its own
    const size_t n_bytes = tensor.entry->n_bytes / static_cast<size_t>(place.n_stacked);
    tensor.data += n_bytes * static_cast<size_t>(place.index);
    return n_bytes;
  };
  weight_bytes_ = part_of(weights_);
  part_of(scales_);
  n_groups_ = column_groups(scheme_, k_);
  if (zeros_less_one) zeros_added_ = scheme_.bits == 4 ? 0x1111'1111u : 0x0101'0101u;
  return {};
}

Status QuantizedMatrix::take_zeros() {
  if (scheme_.is_float) {
    if (std::any_of(zeros_.data, zeros_.data + zeros_.entry->n_bytes,
                    [](std::byte byte) { return byte != std::byte(); }))
      return in_tensor(zeros_.where,
                       unsupported("holds zero points of floats that are not 0, expected zeros"));
    zeros_ = {};
    return {};
  }
  const Status status = scheme_.layout == QuantizedLayout::kElements ? check_type(zeros_, {"I8"})
                        : is_transposed()                            ? check_type(zeros_, {"I32"})
                                          : check_type(zeros_, {"I8", "I32"});
  if (!status) return status;
  // Words of zero points belong to single rows.
  if (!has_zero_bytes() && scheme_.block_rows != 1)
    return in_tensor(
        zeros_.where,
        unsupported("holds zero points for blocks of rows, expected zero points for each row"));
  return check_shape(
      zeros_, has_zero_bytes() ? scales_shape(scheme_, n_, k_) : zero_words_shape(scheme_, n_, k_));
}

Status QuantizedMatrix::take_order(const StoredTensor& order, const RowOrder& columns) {
  if (order.data != nullptr) {
    if (Status status = check_type(order, {"I32"}); !status) return status;
    if (Status status = check_shape(order, {k_}); !status) return status;
  }
  groups_.resize(static_cast<size_t>(k_));
  for (int64_t i = 0; i < k_; ++i) {
    const int64_t at = columns.stored(i);
    if (!columns.keeps()) columns_.push_back(static_cast<int32_t>(at));
    groups_[i] = order.data != nullptr        ? element_at<int32_t>(order.data, at)
                 : scheme_.block_columns == 0 ? 0
                                              : static_cast<int32_t>(at / scheme_.block_columns);
    if (groups_[i] < 0 || groups_[i] >= n_groups_)
      return in_tensor(order.where,
                       bad_file("has group {} at element {}, expected a group in [0, {})",
                                groups_[i], at, n_groups_));
  }
  return {};
}

// Type that holds the integers and scales unchanged; f32 if none does.
DType QuantizedMatrix::exact_type() const {
  if (scheme_.layout == QuantizedLayout::kBlocks) return DType::kMXFP4;
  if (scheme_.is_float || k_ % kBlockLen != 0) return DType::kF32;
  for (int64_t i = 0; i < k_; ++i)
    if (groups_[i] != groups_[i - i % kBlockLen]) return DType::kF32;
  const int middle = 1 << (code_bits() - 1);
  bool is_centred = true;
  const int64_t step = scheme_.block_rows == 0 ? n_ : scheme_.block_rows;
  for (int64_t row = 0; row < n_; row += step)
    for (int64_t group = 0; group < n_groups_; ++group) {
      const float scale = scale_of(row, group);
      if (!std::isfinite(scale) || f16_to_f32(f32_to_f16(scale)) != scale) return DType::kF32;
      is_centred = is_centred && zero_of(row, group) == middle;
    }
  if (code_bits() == 8) return is_centred ? DType::kQ8_0 : DType::kF32;
  return is_centred ? DType::kQ4_0 : DType::kQ5_0;
}

float QuantizedMatrix::scale_of(int64_t row, int64_t group) const {
  const int64_t at = is_transposed() ? group * n_ + row : block_row(row) * n_groups_ + group;
  if (scales_.entry->dtype == "F32") return element_at<float>(scales_.data, at);
  const auto half = element_at<uint16_t>(scales_.data, at);
  return scales_.entry->dtype == "F16" ? f16_to_f32(half) : bf16_to_f32(half);
}

// The zero point as a code; without one, the code of 0.
int QuantizedMatrix::zero_of(int64_t row, int64_t group) const {
  const int bits = code_bits(), middle = 1 << (bits - 1);
  if (zeros_.data == nullptr) return middle;
  if (has_zero_bytes())
    return middle + element_at<int8_t>(zeros_.data, block_row(row) * n_groups_ + group);
  const int per_word = 32 / bits;
  const int64_t line = row / per_word;
  int place = static_cast<int>(row % per_word);
  if (scheme_.layout == QuantizedLayout::kAwq) place = kAwqPlace[place];
  const int64_t at =
      is_transposed() ? group * rounded_up(n_, per_word) + line : line * n_groups_ + group;
  const uint32_t word = element_at<uint32_t>(zeros_.data, at) + zeros_added_;
  return static_cast<int>(word >> (bits * place) & ((1u << bits) - 1));
}

// to: [n_rows, k], columns in the file's order; integers with 2^(bits - 1) added.
void QuantizedMatrix::read_codes(int64_t first, int64_t n_rows, uint8_t* to) const {
  const std::byte* data = weights_.data;
  switch (scheme_.layout) {
    case QuantizedLayout::kElements:
      std::memcpy(to, data + first * k_, static_cast<size_t>(n_rows * k_));
      for (int64_t i = 0; !scheme_.is_float && i < n_rows * k_; ++i) to[i] ^= 0x80;
      return;
    case QuantizedLayout::kAwq: {
      const int64_t n_words = rounded_up(n_, kAwqWord);
      for (int64_t i = 0; i < k_; ++i)
        for (int64_t row = 0; row < n_rows; ++row) {
          const int64_t output = first + row;
          const auto word = element_at<uint32_t>(data, i * n_words + output / kAwqWord);
          to[row * k_ + i] = word >> (4 * kAwqPlace[output % kAwqWord]) & 15;
        }
      return;
    }
    case QuantizedLayout::kWords:
    case QuantizedLayout::kGptq:
    case QuantizedLayout::kBlocks:  // has codes of its own
      break;
  }
  // Words of inputs of one output.
  const int bits = code_bits(), per_word = 32 / bits;
  const uint32_t mask = (1u << bits) - 1;
  const int64_t n_words = rounded_up(k_, per_word);
  const int64_t word_step = is_transposed() ? n_ : 1, row_step = is_transposed() ? 1 : n_words;
  for (int64_t word = 0; word < n_words; ++word)
    for (int64_t row = 0; row < n_rows; ++row) {
      auto codes = element_at<uint32_t>(data, word * word_step + (first + row) * row_step);
      const int64_t end = std::min(k_, (word + 1) * per_word);
      for (int64_t i = word * per_word; i < end; ++i, codes >>= bits)
        to[row * k_ + i] = static_cast<uint8_t>(codes & mask);
    }
}

// As GGUF files have them: the scale's byte, then bytes with the weights i and i + 16 of the group.
void QuantizedMatrix::make_blocks(int64_t first, int64_t n_rows, std::byte* to) const {
  constexpr int64_t kHalf = kBlockLen / 2;
  const std::byte* scale = scales_.data + first * n_groups_;
  const std::byte* codes = weights_.data + first * n_groups_ * kHalf;
  const auto code = [&](int64_t i) {
    return i % 2 == 0 ? codes[i / 2] & std::byte{15} : codes[i / 2] >> 4;
  };
  for (int64_t group = 0; group < n_rows * n_groups_; ++group, codes += kHalf) {
    *to++ = *scale++;
    for (int64_t i = 0; i < kHalf; ++i) *to++ = code(i) | code(i + kHalf) << 4;
  }
}

void QuantizedMatrix::make_rows(int64_t first, int64_t n_rows, std::byte* to) const {
  if (scheme_.layout == QuantizedLayout::kBlocks) return make_blocks(first, n_rows, to);
  std::vector<uint8_t> codes(static_cast<size_t>(n_rows * k_)), ordered(columns_.size());
  read_codes(first, n_rows, codes.data());
  std::vector<float> scales(n_groups_), values(k_);
  std::vector<int> zeros(n_groups_), integers(kBlockLen);
  for (int64_t row = 0; row < n_rows; ++row) {
    const uint8_t* q = codes.data() + row * k_;
    for (size_t i = 0; i < ordered.size(); ++i) ordered[i] = q[columns_[i]];
    if (!ordered.empty()) q = ordered.data();
    for (int64_t group = 0; group < n_groups_; ++group) {
      scales[group] = scale_of(first + row, group);
      zeros[group] = scheme_.is_float ? 0 : zero_of(first + row, group);
    }
    if (dtype_ == DType::kF32) {
      const std::vector<float>& floats = e4m3_table();
      for (int64_t i = 0; i < k_; ++i) {
        const int32_t group = groups_[i];
        const float x = scheme_.is_float ? floats[q[i]] : static_cast<float>(q[i] - zeros[group]);
        values[i] = x * scales[group];
      }
      std::memcpy(to, values.data(), values.size() * sizeof(float));
      to += values.size() * sizeof(float);
      continue;
    }
    for (int64_t i = 0; i < k_; i += kBlockLen) {
      const int32_t group = groups_[i];
      for (int64_t j = 0; j < kBlockLen; ++j) integers[j] = q[i + j] - zeros[group];
      to = put_block(dtype_, scales[group], integers.data(), to);
    }
  }
}

}  // namespace pando::model
