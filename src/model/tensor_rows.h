// Reads the rows of a tensor as its view's type has them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/numbers/weight_types.h"
#include "model/quantized_matrix.h"
#include "model/tensor_view.h"

namespace pando::model {

// Rows of a quantised or transposed matrix are made a tile at a time: its file may have them side
// by side.
class TensorRows {
 public:
  explicit TensorRows(const TensorView& view)
      : view_(view), row_bytes_(stored_bytes(view.dtype, view.shape[1])) {}

  size_t row_bytes() const { return row_bytes_; }
  // Row `row` of the model; valid until the next call.
  const std::byte* operator[](int64_t row) {
    const int64_t stored = view_.rows.stored(row);
    if (!view_.quantized && !view_.transposed)
      return view_.data + static_cast<size_t>(stored) * row_bytes_;
    if (const int64_t first = stored - stored % kTile; first != first_) {
      const int64_t n = std::min(kTile, view_.shape[0] - first);
      tile_.resize(static_cast<size_t>(n) * row_bytes_);
      if (view_.quantized)
        view_.quantized->make_rows(first, n, tile_.data());
      else
        gather(first, n);
      first_ = first;
    }
    return tile_.data() + static_cast<size_t>(stored - first_) * row_bytes_;
  }

 private:
  // Rows [first, first + n) of a transposed matrix.
  void gather(int64_t first, int64_t n) {
    const size_t size = dtype_size(view_.dtype);
    for (int64_t column = 0; column < view_.shape[1]; ++column) {
      const auto at = static_cast<size_t>(column * view_.shape[0] + first);
      for (int64_t row = 0; row < n; ++row)
        std::memcpy(tile_.data() + static_cast<size_t>(row) * row_bytes_ + column * size,
                    view_.data + (at + static_cast<size_t>(row)) * size, size);
    }
  }

  static constexpr int64_t kTile = 32;

  const TensorView& view_;
  size_t row_bytes_;
  int64_t first_ = -1;  // row of the tile
  std::vector<std::byte> tile_;
};

}  // namespace pando::model
