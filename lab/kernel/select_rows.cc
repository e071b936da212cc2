#include "lab/kernel/select_rows.h"

#include <algorithm>
#include <cstring>

namespace pando::kernel {

void select_rows(ThreadPool& pool, std::span<const uint32_t> index, const float* from,
                 size_t from_stride, size_t width, float* to) {
  constexpr int64_t kRowsPerItem = 16;
  const auto n = static_cast<int64_t>(index.size());
  pool.parallel_for((n + kRowsPerItem - 1) / kRowsPerItem, [&](int64_t item, int) {
    for (int64_t i = item * kRowsPerItem; i < std::min(n, (item + 1) * kRowsPerItem); ++i)
      std::memcpy(to + i * width, from + index[i] * from_stride, width * sizeof(float));
  });
}

}  // namespace pando::kernel
