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

// The rule, literally: each length, longest first, goes into the first bin with room.
Bins packed_plainly(const std::vector<uint32_t>& lengths, uint32_t capacity) {
  std::vector<uint32_t> order(lengths.size()), room;
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(), [&](uint32_t i) { return lengths[i]; });
  Bins bins;
  for (const uint32_t i : order) {
    size_t bin = 0;
    while (bin < bins.size() && room[bin] < lengths[i]) ++bin;
    if (bin == bins.size()) bins.emplace_back(), room.push_back(capacity);
    bins[bin].push_back(i);
    room[bin] -= lengths[i];
  }
  return bins;
}

TEST(FirstFitDecreasing, EqualsTheRuleWordForWord) {
  std::mt19937 rng(2);
  for (int round = 0; round < 300; ++round) {
    std::vector<uint32_t> lengths(1 + rng() % 60);
    for (uint32_t& length : lengths) length = 1 + rng() % (round % 3 == 0 ? 5 : 40);
    const uint32_t capacity = std::ranges::max(lengths) + rng() % 10;
    ASSERT_EQ(pack(lengths, capacity), packed_plainly(lengths, capacity)) << round;
  }
}

// Tries every beginning of a list, with numbers of rows near those of its bins.
TEST(GrowingBins, FitWhereTheirBinsDo) {
  std::mt19937 rng(3);
  int n_counted = 0;  // cases that the number of tokens does not decide
  for (int round = 0; round < 300; ++round) {
    std::vector<uint32_t> lengths;
    GrowingBins bins;
    const uint32_t most = round % 3 == 0 ? 6 : 40;
    for (size_t n = 1 + rng() % 40; lengths.size() < n;) {
      lengths.push_back(1 + rng() % most);
      bins.add(lengths.back());
      const uint64_t longest = std::ranges::max(lengths);
      const uint64_t n_rows =
          longest * packed_plainly(lengths, static_cast<uint32_t>(longest)).size();
      for (const uint64_t limit : {n_rows / 2, n_rows - 1, n_rows, n_rows + 1, 2 * n_rows}) {
        const uint64_t before = bins.n_steps();
        ASSERT_EQ(bins.fit(limit), n_rows <= limit) << round << " " << lengths.size();
        n_counted += bins.n_steps() > before;
      }
    }
  }
  EXPECT_GT(n_counted, 3000);
  EXPECT_TRUE(GrowingBins().fit(0));
}

// Twice as many prompts of the same kinds take twice the steps, not eight times as many.
TEST(GrowingBins, StepsGrowWithTheLengthsInProportion) {
  const auto n_steps = [](uint32_t n) {
    std::mt19937 rng(4);
    GrowingBins bins;
    for (uint32_t i = 0; i < n; ++i) {
      bins.add(1 + rng() % 64);
      EXPECT_TRUE(bins.fit(uint64_t{n} * 36));  // enough rows for all, at most a ninth more
    }
    return bins.n_steps();
  };
  const uint64_t half = n_steps(10'000), all = n_steps(20'000);
  EXPECT_GT(half, 10'000u);
  EXPECT_LT(all, 5 * half / 2);
  EXPECT_LT(all, 20'000u * 64 * 64);
}

}  // namespace
}  // namespace pando::lab
