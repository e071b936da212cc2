#include "exec/cpu/kernel/read_weights.h"

#include <algorithm>
#include <cstring>

#include "base/numbers/blocks.h"
#include "base/numbers/weight_types.h"

namespace pando::kernel {

// Elements that lie at a byte that their type does not allow, as files may hold them, are copied
// first, a piece at a time.
void read_weights(const Kernels& kernels, DType type, const std::byte* from, int64_t n, float* to) {
  const WeightTypeInfo& info = info_of(type);
  if (info.block_len > 1) return pando::read_weights(type, from, n, to);
  if (reinterpret_cast<uintptr_t>(from) % info.block_bytes == 0)
    return kernels.widen(type, from, n, to);
  constexpr int64_t kPiece = 1024;  // elements
  alignas(float) std::byte piece[kPiece * sizeof(float)];
  const auto size = static_cast<int64_t>(info.block_bytes);
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t some = std::min(kPiece, n - i);
    std::memcpy(piece, from + i * size, static_cast<size_t>(some * size));
    kernels.widen(type, piece, some, to + i);
  }
}

}  // namespace pando::kernel
