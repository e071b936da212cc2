#include "lab/techniques/bin_packing.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace pando::lab {

std::vector<std::vector<uint32_t>> first_fit_decreasing(std::span<const uint32_t> lengths,
                                                        uint32_t capacity) {
  std::vector<uint32_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(), [&](uint32_t i) { return lengths[i]; });
  std::vector<std::vector<uint32_t>> bins;
  // A binary tree. Its leaves are bins, the empty ones last; each inner node has the larger room of
  // its two children.
  const size_t n_leaves = std::bit_ceil(std::max<size_t>(lengths.size(), 1));
  std::vector<uint32_t> room(2 * n_leaves, capacity);
  for (const uint32_t i : order) {
    PANDO_CHECK(lengths[i] <= capacity);
    size_t node = 1;
    while (node < n_leaves) node = 2 * node + (room[2 * node] < lengths[i] ? 1 : 0);
    const size_t bin = node - n_leaves;
    if (bin == bins.size()) bins.emplace_back();
    bins[bin].push_back(i);
    room[node] -= lengths[i];
    while ((node /= 2) > 0) room[node] = std::max(room[2 * node], room[2 * node + 1]);
  }
  return bins;
}

void GrowingBins::add(uint32_t length) {
  PANDO_CHECK(length > 0);
  ++n_of_[length];
  ++n_lengths_;
  sum_ += length;
}

bool GrowingBins::fit(uint64_t n_rows) {
  if (n_of_.empty()) return true;
  const uint64_t longest = n_of_.begin()->first;
  if (sum_ > n_rows) return false;
  // Any two bins together hold more than one has room for, so at most one is less than half full.
  if (2 * sum_ + longest <= n_rows) return true;
  return n_bins() * longest <= n_rows;
}

// First fit puts equal lengths into neighbouring bins with the same room, so each run of such bins
// is filled in one step.
uint64_t GrowingBins::n_bins() {
  runs_ = {{n_lengths_, n_of_.begin()->first}};  // as many empty bins as could be needed
  for (const auto& [length, n_of_length] : n_of_) {
    uint64_t left = n_of_length;
    next_.clear();
    for (Run run : runs_) {
      ++n_steps_;
      if (left > 0 && run.room >= length) {
        const uint32_t n_each = run.room / length;
        const uint64_t n_filled = std::min(run.n, left / n_each);
        append(next_, {n_filled, run.room - n_each * length});
        left -= n_filled * n_each;
        run.n -= n_filled;
        if (run.n > 0 && left > 0) {
          append(next_, {1, run.room - static_cast<uint32_t>(left) * length});
          left = 0;
          --run.n;
        }
      }
      append(next_, run);
    }
    std::swap(runs_, next_);
  }
  const bool some_empty = !runs_.empty() && runs_.back().room == n_of_.begin()->first;
  return n_lengths_ - (some_empty ? runs_.back().n : 0);
}

// Leaves out bins that have no room for any length.
void GrowingBins::append(std::vector<Run>& runs, const Run& run) const {
  if (run.n == 0 || run.room < n_of_.rbegin()->first) return;
  if (!runs.empty() && runs.back().room == run.room) {
    runs.back().n += run.n;
  } else {
    runs.push_back(run);
  }
}

}  // namespace pando::lab
