#include "contract/word_delta.h"

#include <gtest/gtest.h>

#include <random>

namespace pando {
namespace {

using Words = std::vector<uint32_t>;

std::vector<std::byte> bytes_of(const Words& words) {
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

// The words of the delta, which gives back the message.
size_t n_words(const Words& before, const Words& now) {
  const std::vector<std::byte> delta = delta_of(bytes_of(before), bytes_of(now));
  const Result<std::vector<std::byte>> applied = apply_delta(bytes_of(before), delta);
  EXPECT_TRUE(applied.ok()) << applied.error().message();
  EXPECT_EQ(*applied, bytes_of(now));
  return delta.size() / sizeof(uint32_t);
}

Words counted(uint32_t n, uint32_t first = 0) {
  Words words(n);
  for (uint32_t i = 0; i < n; ++i) words[i] = first + i;
  return words;
}

TEST(WordDelta, HasOnlyWhatChanged) {
  const Words before = counted(1000);
  EXPECT_EQ(n_words(before, before), 3u);
  Words now = before;
  now[500] = 7;
  EXPECT_EQ(n_words(before, now), 1 + 2 + 2 + 2u) << "one word in place";
  now.insert(now.begin() + 200, {8, 9});
  EXPECT_EQ(n_words(before, now), 1 + 2 + 3 + 2 + 2 + 2u) << "words that move the others";
  now.erase(now.begin() + 700, now.begin() + 720);
  EXPECT_EQ(n_words(before, now), 1 + 2 + 3 + 2 + 2 + 2 + 2u);
}

TEST(WordDelta, NothingInCommon) {
  EXPECT_EQ(n_words({}, counted(10)), 12u);
  EXPECT_EQ(n_words(counted(10), counted(10, 100)), 12u);
  EXPECT_EQ(n_words(counted(10), {}), 1u);
  EXPECT_EQ(n_words({}, {}), 1u);
}

TEST(WordDelta, RandomMessagesComeBack) {
  std::mt19937 rng(1);
  Words before;
  for (int round = 0; round < 3000; ++round) {
    Words now = before;
    for (int n = static_cast<int>(rng() % 6); n > 0; --n) {
      const auto at = now.begin() + static_cast<std::ptrdiff_t>(rng() % (now.size() + 1));
      const auto n_there = static_cast<size_t>(now.end() - at);
      if (rng() % 2 == 0) {
        now.erase(at, at + static_cast<std::ptrdiff_t>(rng() % (std::min<size_t>(n_there, 9) + 1)));
      } else {
        now.insert(at, 1 + rng() % 9, rng() % 5);
      }
    }
    n_words(before, now);
    before = std::move(now);
    if (::testing::Test::HasFailure()) FAIL() << "round " << round;
  }
}

TEST(WordDelta, OtherBytesAreRefused) {
  const auto error = [](const Words& delta) {
    const auto applied = apply_delta(bytes_of(counted(5)), bytes_of(delta));
    return applied ? "" : applied.error().message();
  };
  constexpr uint32_t kCopied = 0x80000000;
  EXPECT_EQ(error({2, kCopied | 2, 3}), "");
  EXPECT_NE(error({}), "");
  EXPECT_NE(error({1}), "");
  EXPECT_NE(error({1, 2, 3, 4}), "");
  EXPECT_NE(error({2, 2, 3}), "");
  EXPECT_NE(error({1, 0, 3}), "");
  EXPECT_NE(error({2, kCopied | 2}), "");
  EXPECT_NE(error({2, kCopied | 2, 4}), "");
  EXPECT_NE(error({2, kCopied | 2, 0xffffffff}), "");
  EXPECT_FALSE(apply_delta({}, std::vector<std::byte>(5)).ok());
}

}  // namespace
}  // namespace pando
