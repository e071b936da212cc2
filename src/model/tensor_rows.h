// Reads the rows of a tensor as its view's type has them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernel/weight_types.h"
#include "model/quantized_matrix.h"
#include "model/tensor_view.h"

namespace pando::model {

// Rows of a quantised matrix are made a tile at a time: its file may have them side by side.
class TensorRows {
 public:
  explicit TensorRows(const TensorView& view)
      : view_(view), row_bytes_(kernel::stored_bytes(view.dtype, view.shape[1])) {}

  size_t row_bytes() const { return row_bytes_; }
  // Row `row` of the model; valid until the next call.
  const std::byte* operator[](int64_t row) {
    const int64_t stored = view_.rows.stored(row);
    if (!view_.quantized) return view_.data + static_cast<size_t>(stored) * row_bytes_;
    if (const int64_t first = stored - stored % kTile; first != first_) {
      const int64_t n = std::min(kTile, view_.shape[0] - first);
      tile_.resize(static_cast<size_t>(n) * row_bytes_);
      view_.quantized->make_rows(first, n, tile_.data());
      first_ = first;
    }
    return tile_.data() + static_cast<size_t>(stored - first_) * row_bytes_;
  }

 private:
  static constexpr int64_t kTile = 32;

  const TensorView& view_;
  size_t row_bytes_;
  int64_t first_ = -1;  // row of the tile
  std::vector<std::byte> tile_;
};

}  // namespace pando::model
