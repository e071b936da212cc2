// First-fit-decreasing bin packing: Prepacking, section 3.1.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

namespace pando::lab {

// Returns bins of `capacity`, each with the indices of its lengths in the order they were placed:
// longest first, of equal lengths the earlier first. No length may exceed the capacity. Takes
// n log n steps.
std::vector<std::vector<uint32_t>> first_fit_decreasing(std::span<const uint32_t> lengths,
                                                        uint32_t capacity);

// A growing list of lengths, and the number of bins that first_fit_decreasing needs for it. Each
// bin is as long as the longest length.
class GrowingBins {
 public:
  void add(uint32_t length);  // at least 1
  // True if the bins have at most n_rows rows in all. Its steps depend on the number of different
  // lengths, not on the number of lengths.
  bool fit(uint64_t n_rows);
  uint64_t n_steps() const { return n_steps_; }  // of all calls of `fit`

 private:
  struct Run {  // neighbouring bins with the same room
    uint64_t n;
    uint32_t room;
  };

  uint64_t n_bins();
  void append(std::vector<Run>& runs, const Run& run) const;

  std::map<uint32_t, uint64_t, std::greater<>> n_of_;  // number of each length
  uint64_t n_lengths_ = 0, sum_ = 0, n_steps_ = 0;
  std::vector<Run> runs_, next_;  // work space of n_bins()
};

}  // namespace pando::lab
