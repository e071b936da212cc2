#include "lab/techniques/bin_packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace pando::lab {
namespace {

using Bins = std::vector<std::vector<uint32_t>>;

Bins pack(const std::vector<uint32_t>& lengths, uint32_t capacity) {
  return first_fit_decreasing(lengths, capacity);
}

TEST(FirstFitDecreasing, LongestFirstIntoTheFirstBinWithRoom) {
  EXPECT_EQ(pack({2, 5, 3, 7}, 7), (Bins{{3}, {1, 0}, {2}}));
  EXPECT_EQ(pack({4, 4, 4}, 4), (Bins{{0}, {1}, {2}}));
  EXPECT_EQ(pack({1, 1, 1}, 3), (Bins{{0, 1, 2}}));
  EXPECT_EQ(pack({}, 5), Bins{});
}

TEST(FirstFitDecreasing, OneTokenPromptsFillWhatIsLeft) {
  EXPECT_EQ(pack({1, 8, 1, 7}, 8), (Bins{{1}, {3, 0}, {2}}));
}

// Every length once, no bin too full, no length that an earlier bin had room for; and no more bins
// than the bound of the method.
TEST(FirstFitDecreasing, RandomLengths) {
  std::mt19937 rng(1);
  for (int round = 0; round < 300; ++round) {
    std::vector<uint32_t> lengths(1 + rng() % 60);
    for (uint32_t& length : lengths) length = 1 + rng() % 100;
    const uint32_t capacity = std::ranges::max(lengths) + rng() % 3;
    const Bins bins = pack(lengths, capacity);
    std::vector<uint32_t> sums, seen;
    for (const auto& bin : bins) {
      sums.push_back(0);
      for (const uint32_t i : bin) sums.back() += lengths[i];
      ASSERT_LE(sums.back(), capacity);
      ASSERT_TRUE(
          std::ranges::is_sorted(bin, std::greater<>(), [&](uint32_t i) { return lengths[i]; }));
      seen.insert(seen.end(), bin.begin(), bin.end());
    }
    for (size_t bin = 1; bin < bins.size(); ++bin) {
      const uint32_t longest = lengths[bins[bin].front()];
      uint32_t before = 0;  // in the bin above, of what is not shorter
      for (const uint32_t i : bins[bin - 1])
        if (lengths[i] >= longest) before += lengths[i];
      ASSERT_GT(before + longest, capacity);
    }
    std::ranges::sort(seen);
    std::vector<uint32_t> all(lengths.size());
    std::iota(all.begin(), all.end(), 0);
    ASSERT_EQ(seen, all);
    const double least = std::accumulate(lengths.begin(), lengths.end(), 0.0) / capacity;
    ASSERT_LE(static_cast<double>(bins.size()), 2 * least + 1);
  }
}

}  // namespace
}  // namespace pando::lab
