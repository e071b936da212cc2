// The order in which a file holds the rows of a tensor.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace pando::model {

// Rows from `first` on come in blocks. A block is `groups` runs of runs[0] rows, then as many of
// runs[1] rows, and so on; the file holds the first run of each of these, then the second of each,
// and so on. Behind them come `rest` rows in their order. Rows before `first` lie in their order,
// all where there are no runs.
struct RowOrder {
  int64_t first = 0;
  int64_t groups = 0;
  std::vector<int64_t> runs = {};
  int64_t rest = 0;

  bool keeps() const { return runs.empty(); }
  // Index in the file of row `row` of the tensor.
  int64_t stored(int64_t row) const {
    if (keeps() || row < first) return row;
    const int64_t group_len = std::accumulate(runs.begin(), runs.end(), int64_t{0});
    int64_t at = (row - first) % (group_len * groups + rest), begin = 0;  // of the run in a group
    const int64_t block = row - at;
    for (const int64_t run : runs) {
      if (at < run * groups) return block + at / run * group_len + begin + at % run;
      at -= run * groups;
      begin += run;
    }
    return row;
  }
  bool operator==(const RowOrder&) const = default;

  // Heads of head_dim rows, the first n of which rotate; a head's rows i and i + n / 2, which the
  // rotary embedding turns together, lie side by side.
  static RowOrder pairs(int64_t head_dim, int64_t n) { return {0, n / 2, {1, 1}, head_dim - n}; }
  static RowOrder pairs(int64_t head_dim) { return pairs(head_dim, head_dim); }
};

}  // namespace pando::model
