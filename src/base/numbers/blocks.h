// Reads rows of weights as files hold them: elements, or blocks (block_codes.h, grid_blocks.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "base/numbers/weight_types.h"

namespace pando {

// n weights of any stored type, whole blocks of them, at any byte, as f32.
void read_weights(DType type, const std::byte* from, int64_t n, float* to);

// True if n weights of any stored type, whole blocks of them, are finite numbers. Only the factors
// of a block can be infinite or NaN; their products fit f32.
bool all_finite(DType type, const std::byte* from, int64_t n);

// The tests of base/numbers/weight_types.h: for elements; for blocks with kFactors f16 numbers from
// byte kAt on; for blocks whose scale is a power of two; for IQ1_M.
bool all_finite_f32(DType type, const std::byte* from, int64_t n);
bool all_finite_f16(DType type, const std::byte* from, int64_t n);
bool all_finite_bf16(DType type, const std::byte* from, int64_t n);
bool all_finite_blocks(DType type, const std::byte* from, int64_t n, int at, int n_factors);
template <int kAt, int kFactors = 1>
bool all_finite_blocks(DType type, const std::byte* from, int64_t n) {
  return all_finite_blocks(type, from, n, kAt, kFactors);
}
bool all_finite_powers(DType type, const std::byte* from, int64_t n);
bool all_finite_iq1_m(DType type, const std::byte* from, int64_t n);

}  // namespace pando
