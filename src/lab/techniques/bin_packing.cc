#include "lab/techniques/bin_packing.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace pando::lab {

std::vector<std::vector<uint32_t>> first_fit_decreasing(std::span<const uint32_t> lengths,
                                                        uint32_t capacity) {
  std::vector<uint32_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(), [&](uint32_t i) { return lengths[i]; });
  std::vector<std::vector<uint32_t>> bins;
  std::vector<uint32_t> room;  // by bin
  size_t first = 0;            // bins before it are full
  for (const uint32_t i : order) {
    PANDO_CHECK(lengths[i] <= capacity);
    while (first < bins.size() && room[first] == 0) ++first;
    size_t bin = first;
    while (bin < bins.size() && room[bin] < lengths[i]) ++bin;
    if (bin == bins.size()) {
      bins.emplace_back();
      room.push_back(capacity);
    }
    bins[bin].push_back(i);
    room[bin] -= lengths[i];
  }
  return bins;
}

}  // namespace pando::lab
