// A tensor as a file holds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/dtype.h"

namespace pando::model {

// Valid as long as the Checkpoint that gave it.
struct TensorView {
  DType dtype = DType::kF32;   // any but int8
  std::vector<int64_t> shape;  // outer to inner
  // Row-major elements, at any byte, or rows of whole blocks (kernel/blocks.h).
  const std::byte* data = nullptr;
  size_t n_bytes = 0;
  // Where above 0, rows come in heads of this many, and a head's rows i and i + head_dim / 2, which
  // the rotary embedding turns together, lie side by side in the file.
  int64_t paired_head_dim = 0;

  // Where row `row` of the tensor lies in the file.
  int64_t stored_row(int64_t row) const {
    if (paired_head_dim == 0) return row;
    const int64_t half = paired_head_dim / 2, i = row % paired_head_dim;
    return row - i + (i < half ? 2 * i : 2 * (i - half) + 1);
  }
};

}  // namespace pando::model
