#include "exec/scalar/matrix.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/half.h"
#include "base/numbers/block_codes.h"
#include "base/numbers/blocks.h"
#include "base/numbers/group_form.h"
#include "base/numbers/weight_types.h"
#include "exec/scalar/fma.h"

namespace pando::exec::scalar {
namespace {

constexpr int kGroup = 32;
constexpr float kLeastAmax = 0x1p-100f;  // below it a group is all zeros
constexpr float kLeastDot = 0x1p-50f;    // the same for a value of bf16_dot

float amax_of(const float* x, int n) {
  float amax = 0.0f;
  for (int i = 0; i < n; ++i)
    if (!(std::fabs(x[i]) <= amax)) amax = std::fabs(x[i]);  // NaN stays
  return amax;
}

int8_t rounded(float x, float least, float most) {
  if (std::isnan(x)) return static_cast<int8_t>(most);
  return static_cast<int8_t>(std::clamp(std::nearbyint(x), least, most));
}

float rounded_for_dot(float x) {
  return std::fabs(x) < kLeastDot ? 0.0f : bf16_to_f32(f32_to_bf16(x));
}

// Integers of q8_0 or q4_0 weights, and their scale, which is f16.
float quantise_weights(DType type, const float* w, int n, int8_t* q) {
  float most = 0.0f;  // the first of the largest magnitude, with its sign
  for (int i = 0; i < n; ++i)
    if (std::fabs(w[i]) > std::fabs(most)) most = w[i];
  const bool is_q8 = type == DType::kQ8_0;
  const float d = f16_to_f32(f32_to_f16(is_q8 ? std::fabs(most) / 127.0f : most / -8.0f));
  const float inverse = d == 0.0f ? 0.0f : 1.0f / d;
  for (int i = 0; i < n; ++i)
    q[i] = rounded(w[i] * inverse, is_q8 ? -127.0f : -8.0f, is_q8 ? 127.0f : 7.0f);
  return d;
}

}  // namespace

DType kept_type(DType stored) {
  const WeightTypeInfo& info = info_of(stored);
  return info.read_block == nullptr ? info.codes : DType::kQ8_0;
}

Integers quantise(const float* x, int n) {
  float amax = amax_of(x, n);
  if (amax < kLeastAmax) amax = 0.0f;
  const float factor = amax == 0.0f ? 0.0f : 127.0f / amax;
  Integers integers{std::vector<int8_t>(n), amax / 127.0f};
  for (int i = 0; i < n; ++i) integers.q[i] = rounded(x[i] * factor, -127.0f, 127.0f);
  return integers;
}

Matrix::Matrix(DType type, int n, int k) : type_(type), n_(n), k_(k) {
  const GroupForm form = group_form(type);
  group_len_ = type == DType::kI8 ? k : form.code_bits > 0 ? kGroup : 0;
  n_groups_ = group_len_ == 0 ? 0 : (k + group_len_ - 1) / group_len_;
  const auto n_rows = static_cast<size_t>(n);
  if (group_len_ == 0) values_.resize(n_rows * k);
  q_.resize(n_rows * n_groups_ * group_len_);
  scales_.resize(n_rows * n_groups_);
  if (form.minima) minima_.resize(scales_.size());
  if (form.code_bits > 0 && form.factor_len < kGroup) factors_.resize(2 * scales_.size());
}

size_t Matrix::bytes() const {
  const size_t n_floats = values_.size() + scales_.size() + minima_.size() + factors_.size();
  return n_floats * sizeof(float) + q_.size();
}

bool Matrix::set_row(int row, DType stored, const std::byte* from) {
  const WeightTypeInfo& info = info_of(stored);
  if (group_len_ > 0 && info.becomes(type_)) {
    set_blocks(row, stored, from);
    return true;
  }
  std::vector<float> wide(k_);
  read_weights(stored, from, k_, wide.data());
  return group_len_ > 0 ? set_integers(row, wide.data()) : set_values(row, wide.data());
}

bool Matrix::set_values(int row, const float* from) {
  float* const to = values_.data() + static_cast<size_t>(row) * k_;
  bool is_finite = true;
  for (int i = 0; i < k_; ++i) {
    if (type_ == DType::kF32) to[i] = from[i];
    if (type_ == DType::kF16) to[i] = f16_to_f32(f32_to_f16(from[i]));
    if (type_ == DType::kBF16) to[i] = bf16_to_f32(f32_to_bf16(from[i]));
    if (type_ == DType::kBF16Dot) to[i] = rounded_for_dot(from[i]);
    is_finite = is_finite && std::isfinite(to[i]);
  }
  return is_finite;
}

bool Matrix::set_integers(int row, const float* from) {
  bool is_finite = true;
  for (int g = 0; g < n_groups_; ++g) {
    const size_t at = static_cast<size_t>(row) * n_groups_ + g;
    const int n = std::min(group_len_, k_ - g * group_len_);
    const float* const w = from + g * group_len_;
    int8_t* const q = q_.data() + at * group_len_;
    if (type_ == DType::kI8) {
      const Integers integers = quantise(w, n);
      std::ranges::copy(integers.q, q);
      scales_[at] = integers.scale;
    } else {
      scales_[at] = quantise_weights(type_, w, n, q);
    }
    is_finite = is_finite && std::isfinite(scales_[at]) && std::isfinite(amax_of(w, n));
  }
  return is_finite;
}

void Matrix::set_blocks(int row, DType stored, const std::byte* from) {
  const WeightTypeInfo& info = info_of(stored);
  const GroupForm form = group_form(type_);
  const uint8_t* const table = code_table(type_);
  BlockCodes block;
  size_t at = static_cast<size_t>(row) * n_groups_;
  for (int i = 0; i < k_; i += info.block_len, from += info.block_bytes) {
    info.read_codes(from, block);
    const float d = f16_to_f32(block.d), m = f16_to_f32(block.m);
    for (int g = 0; g < info.block_len / kGroup; ++g, ++at) {
      for (int j = 0; j < kGroup; ++j) {
        const uint8_t code = block.q[g * kGroup + j];
        q_[at * kGroup + j] =
            static_cast<int8_t>((table != nullptr ? table[code] : code) - form.offset);
      }
      if (!factors_.empty()) {
        scales_[at] = d;
        for (int half = 0; half < 2; ++half)
          factors_[2 * at + half] = static_cast<float>(block.scales[2 * g + half]);
      } else if (type_ == DType::kMXFP4) {
        scales_[at] = std::ldexp(1.0f, static_cast<uint8_t>(block.scales[0]) - 128);
      } else {
        scales_[at] = form.heads > 0 ? d * static_cast<float>(block.scales[g]) : d;
      }
      if (form.minima)
        minima_[at] = form.heads > 0 ? -(m * static_cast<float>(block.minima[g])) : m;
    }
  }
}

// Activations of integers have the groups of the weights.
struct Matrix::Inputs {
  std::vector<float> values;     // [k]
  std::vector<Integers> groups;  // [n_groups]
  std::vector<float> sums;       // [n_groups] scale times the sum of the integers
};

Matrix::Inputs Matrix::inputs_of(const float* x) const {
  Inputs inputs;
  if (group_len_ == 0) {
    inputs.values.assign(x, x + k_);
    if (type_ == DType::kBF16Dot)
      for (float& value : inputs.values) value = rounded_for_dot(value);
    return inputs;
  }
  for (int i = 0; i < k_; i += group_len_) {
    const Integers& group =
        inputs.groups.emplace_back(quantise(x + i, std::min(group_len_, k_ - i)));
    const int sum = std::accumulate(group.q.begin(), group.q.end(), 0);
    inputs.sums.push_back(group.scale * static_cast<float>(sum));
  }
  return inputs;
}

float Matrix::product(int row, const Inputs& x) const {
  if (group_len_ > 0) return product_of_groups(row, x);
  const float* const w = values_.data() + static_cast<size_t>(row) * k_;
  if (type_ != DType::kBF16Dot) return fma_chain(x.values.data(), w, k_);
  float acc = 0.0f;
  for (int i = 0; i < k_; i += 2)
    acc = std::fma(x.values[i], w[i], std::fma(x.values[i + 1], w[i + 1], acc));
  return acc;
}

float Matrix::product_of_groups(int row, const Inputs& x) const {
  float acc = 0.0f;
  for (int g = 0; g < n_groups_; ++g) {
    const size_t at = static_cast<size_t>(row) * n_groups_ + g;
    const int8_t* const w = q_.data() + at * group_len_;
    const Integers& in = x.groups[g];
    const auto n = static_cast<int>(in.q.size()), middle = std::min(n, kGroup / 2);
    int first = 0, second = 0;  // sums of the halves
    for (int i = 0; i < middle; ++i) first += int{w[i]} * int{in.q[i]};
    for (int i = middle; i < n; ++i) second += int{w[i]} * int{in.q[i]};
    const float sum = factors_.empty() ? static_cast<float>(first + second)
                                       : std::fma(static_cast<float>(second), factors_[2 * at + 1],
                                                  static_cast<float>(first) * factors_[2 * at]);
    acc = std::fma(sum, in.scale * scales_[at], acc);
    if (!minima_.empty()) acc = std::fma(x.sums[g], minima_[at], acc);
  }
  return acc;
}

void Matrix::multiply(const Rows& x, ThreadPool& pool, Rows& y, size_t first) const {
  PANDO_CHECK(x.width == static_cast<size_t>(k_) && first + n_ <= y.width);
  std::vector<Inputs> inputs(x.n);
  each_row(pool, x.n, [&](uint32_t row) { inputs[row] = inputs_of(x.row(row)); });
  pool.parallel_runs(n_, [&](int64_t output, int) {
    for (uint32_t row = 0; row < x.n; ++row)
      y.row(row)[first + output] = product(static_cast<int>(output), inputs[row]);
  });
}

Rows multiply(std::span<const Matrix> stack, const Rows& x, ThreadPool& pool) {
  size_t n = 0;
  for (const Matrix& matrix : stack) n += matrix.n();
  Rows y(x.n, n);
  size_t first = 0;
  for (const Matrix& matrix : stack) {
    matrix.multiply(x, pool, y, first);
    first += matrix.n();
  }
  return y;
}

}  // namespace pando::exec::scalar
