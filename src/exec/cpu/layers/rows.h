// Loops over the rows of a step on the threads of a pool.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/thread_pool.h"
#include "contract/executor.h"

namespace pando::exec {

// body(begin, end) for blocks of `rows_each` rows.
template <class Body>
void for_blocks(ThreadPool& pool, uint32_t n_rows, uint32_t rows_each, const Body& body) {
  pool.parallel_runs((n_rows + rows_each - 1) / rows_each, [&](int64_t item, int) {
    const uint32_t begin = static_cast<uint32_t>(item) * rows_each;
    body(begin, std::min(begin + rows_each, n_rows));
  });
}

// body(row) for every row.
template <class Body>
void for_rows(ThreadPool& pool, uint32_t n_rows, const Body& body) {
  constexpr uint32_t kRowsEach = 8;  // enough to pay for handing them out
  for_blocks(pool, n_rows, kRowsEach, [&](uint32_t begin, uint32_t end) {
    for (uint32_t row = begin; row < end; ++row) body(row);
  });
}

}  // namespace pando::exec
