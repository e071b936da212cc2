#include "exec/cpu/kernel/self_test.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <mutex>
#include <random>

#include "base/check.h"
#include "base/fp_state.h"
#include "base/numbers/weight_types.h"
#include "base/thread_pool.h"
#include "exec/cpu/kernel/linear.h"
#include "exec/cpu/kernel/packed_matrix.h"

namespace pando::kernel {
namespace {

// Outputs of a whole panel and a part of one; inputs of one unit of the longest kind.
constexpr int kOutputs = 56, kInputs = 256;
// kRows different rows of activations are repeated to kAllRows: enough for tile registers, and for
// slices that are widened.
constexpr int kRows = 3, kAllRows = 39;

// [n_rows, kInputs], from -1 to 1. The first row has only -1 and 1, which give the largest
// integers.
std::vector<float> any_values(int n_rows, uint32_t seed) {
  std::minstd_rand random(seed);
  std::vector<float> x(static_cast<size_t>(n_rows) * kInputs);
  for (size_t i = 0; i < x.size(); ++i) {
    const float value = static_cast<float>(random() >> 8) * 0x1p-22f - 1.0f;
    x[i] = i >= kInputs ? value : value < 0.0f ? -1.0f : 1.0f;
  }
  return x;
}

// Any bytes without bit 6: in scales of f16 and in exponents this leaves finite numbers, whose
// products are finite too.
std::vector<std::byte> any_blocks(DType type) {
  std::minstd_rand random(1);
  std::vector<std::byte> bytes(stored_bytes(type, int64_t{kOutputs} * kInputs));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() >> 8 & 0xbf);
  return bytes;
}

PackedMatrix any_matrix(DType type) {
  const Kernels& portable = *kernels_for(Isa::kPortable);
  PackedMatrix matrix(type, kOutputs, kInputs);
  const bool finite =
      block_len(type) > 1
          ? matrix.set_rows(portable, 0, kOutputs, type, any_blocks(type).data())
          : matrix.set_rows(portable, 0, kOutputs, DType::kF32, any_values(kOutputs, 1).data());
  PANDO_CHECK(finite);
  return matrix;
}

// [m, kOutputs]
std::vector<float> products(const Kernels& kernels, const PackedMatrix& w,
                            const std::vector<float>& x, int m) {
  ThreadPool alone(1);
  PackedRows scratch;
  std::vector<float> y(size_t{kOutputs} * static_cast<size_t>(m));
  linear(kernels, alone, w, {x.data(), kInputs, m, y.data(), kOutputs}, scratch);
  return y;
}

// x: [kAllRows, kInputs], the first kRows again and again
bool same_products(const Kernels& kernels, DType type, const std::vector<float>& x) {
  const PackedMatrix w = any_matrix(type);
  const std::vector<float> expected = products(*kernels_for(Isa::kPortable), w, x, kRows);
  for (const int m : {1, kAllRows}) {
    const std::vector<float> y = products(kernels, w, x, m);
    for (size_t i = 0; i < y.size(); i += kOutputs)
      if (std::memcmp(&y[i], &expected[i % expected.size()], kOutputs * sizeof(float)) != 0)
        return false;
  }
  return true;
}

}  // namespace

std::optional<DType> first_wrong_product(const Kernels& kernels) {
  const FpStateGuard fp_state;
  std::vector<float> x = any_values(kRows, 2);
  for (size_t i = 0; x.size() < size_t{kAllRows} * kInputs; ++i) x.push_back(x[i]);
  for (const WeightTypeInfo& info : weight_types())
    if (packed_type(info.type) == info.type && !same_products(kernels, info.type, x))
      return info.type;
  return std::nullopt;
}

std::optional<DType> known_wrong_product(const Kernels& kernels) {
  static std::mutex mutex;
  static std::map<const Kernels*, std::optional<DType>> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(&kernels); found != known.end()) return found->second;
  const std::optional<DType> wrong =
      kernels.isa == Isa::kPortable ? std::nullopt : first_wrong_product(kernels);
  return known.emplace(&kernels, wrong).first->second;
}

KernelChoice choose_kernels(std::span<const Kernels* const> tables) {
  KernelChoice choice{.kernels = nullptr, .refused = {}};
  for (const Kernels* kernels : tables) {
    const std::optional<DType> wrong = known_wrong_product(*kernels);
    if (!wrong) {
      choice.kernels = kernels;
      break;
    }
    choice.refused.push_back(fmt::format(
        "instruction set '{}' is not used: on this processor its products with {} weights differ "
        "from those of 'portable'",
        kernels->name, dtype_name(*wrong)));
  }
  PANDO_CHECK(choice.kernels != nullptr);
  return choice;
}

}  // namespace pando::kernel
