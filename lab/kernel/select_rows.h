// Rows of a matrix in another order, some several times: RadixMLP's gather and scatter (3.2, B.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/thread_pool.h"

namespace pando::kernel {

// to[i] = from[index[i]]; from: [rows, width] f32, rows `from_stride` values apart;
// to: [index.size(), width] f32.
void select_rows(ThreadPool& pool, std::span<const uint32_t> index, const float* from,
                 size_t from_stride, size_t width, float* to);

}  // namespace pando::kernel
