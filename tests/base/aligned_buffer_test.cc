#include "base/aligned_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace pando {
namespace {

bool is_zero(const AlignedBuffer& buffer) {
  return std::all_of(buffer.data(), buffer.data() + buffer.size(),
                     [](std::byte b) { return b == std::byte{0}; });
}

TEST(AlignedBufferTest, FreshMemoryIsZeroAndAligned) {
  for (const size_t n : {size_t{1}, size_t{4096}, size_t{5} << 20}) {
    AlignedBuffer buffer(n);
    EXPECT_EQ(buffer.size(), n);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u);
    EXPECT_TRUE(is_zero(buffer));
    AlignedBuffer moved(std::move(buffer));
    EXPECT_EQ(moved.size(), n);
    EXPECT_EQ(buffer.data(), nullptr);  // NOLINT(bugprone-use-after-move)
  }
  EXPECT_EQ(AlignedBuffer(0).data(), nullptr);
}

TEST(AlignedBufferTest, LargeOnesBeginAtAHugePage) {
  EXPECT_EQ(reinterpret_cast<uintptr_t>(AlignedBuffer(size_t{5} << 20).data()) % (2 << 20), 0u);
}

TEST(AlignedBufferTest, NeighboursAreApartAndOutliveOneAnother) {
  std::vector<AlignedBuffer> all;
  const size_t sizes[] = {1, 100, 0, size_t{3} << 20, size_t{70} << 20, size_t{61} << 20, 64, 1000};
  for (const size_t n : sizes) {
    all.push_back(AlignedBuffer::beside_others(n));
    EXPECT_EQ(all.back().size(), n);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(all.back().data()) % 64, 0u);
    EXPECT_TRUE(is_zero(all.back()));
  }
  for (size_t i = 0; i < all.size(); ++i)
    std::fill_n(all[i].data(), all[i].size(), static_cast<std::byte>(i + 1));
  all.erase(all.begin());
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_TRUE(std::all_of(all[i].data(), all[i].data() + all[i].size(),
                            [&](std::byte b) { return b == static_cast<std::byte>(i + 2); }));
}

TEST(AlignedBufferTest, WhatIsGivenBackIsNotHandedOutAgain) {
  const AlignedBuffer kept = AlignedBuffer::beside_others(1000);
  AlignedBuffer gone = AlignedBuffer::beside_others(1000);
  std::fill_n(gone.data(), gone.size(), std::byte{1});
  gone = AlignedBuffer();
  EXPECT_TRUE(is_zero(AlignedBuffer::beside_others(1000)));
}

}  // namespace
}  // namespace pando
