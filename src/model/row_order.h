// In which order a file holds the rows of a tensor.
#pragma once

#include <cstdint>

namespace pando::model {

// Rows from `first` on come in blocks of outer x inner runs, each of `run` rows. The file holds a
// block's runs as inner x outer. Rows before `first` lie in their order; so do all where outer is 0.
struct RowOrder {
  int64_t first = 0;
  int64_t outer = 0;
  int64_t inner = 0;
  int64_t run = 1;

  bool keeps() const { return outer == 0; }
  // Where row `row` of the tensor lies in the file.
  int64_t stored(int64_t row) const {
    if (keeps() || row < first) return row;
    const int64_t in_run = (row - first) % run, nth = (row - first) / run % (outer * inner);
    const int64_t block = row - in_run - nth * run;
    return block + (nth % inner * outer + nth / inner) * run + in_run;
  }
  bool operator==(const RowOrder&) const = default;

  // Heads of head_dim rows; a head's rows i and i + head_dim / 2, which the rotary embedding turns
  // together, lie side by side.
  static constexpr RowOrder pairs(int64_t head_dim) { return {0, 2, head_dim / 2, 1}; }
};

}  // namespace pando::model
