#include "exec/cpu/kv_memory.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace pando::exec {
namespace {

// Pages of a mebibyte.
constexpr kernel::KvShape kShape{
    .type = DType::kF32, .n_layers = 1, .n_kv_heads = 1, .head_dim = 4096, .page_len = 32};
constexpr size_t kPage = size_t{1} << 20;

TEST(KvMemory, HoldsWholePages) {
  ASSERT_EQ(kShape.page_bytes(), kPage);
  const KvMemory memory(kShape, 5);
  std::byte* const last = memory.views()[0].page(4);
  std::fill_n(last, kPage, std::byte{7});
  EXPECT_EQ(last[kPage - 1], std::byte{7});
}

TEST(KvMemory, IsPreparedAheadOfUse) {
  KvMemory memory(kShape, 200);
  EXPECT_EQ(memory.ready_bytes(0), 0u);
  std::byte* const first = memory.views()[0].page(0);
  std::fill_n(first, kPage, std::byte{7});
  const auto n_pieces = [&](size_t n_touched, size_t n_bytes) {
    int n = 0;
    while (memory.ready_bytes(n_touched) < n_bytes && memory.prepare(n_touched)) ++n;
    return n;
  };
  EXPECT_EQ(n_pieces(1, 64 * kPage), 33) << "the rest of the piece that is in use, and 32 more";
  EXPECT_EQ(memory.ready_bytes(1), 65 * kPage);
  EXPECT_EQ(std::count(first, first + kPage, std::byte{7}), std::ptrdiff_t{kPage})
      << "pages in use stay as they are";
  EXPECT_EQ(memory.ready_bytes(11), 55 * kPage);
  EXPECT_EQ(n_pieces(11, 64 * kPage), 5);
  EXPECT_EQ(memory.ready_bytes(200), 0u);
  EXPECT_FALSE(memory.prepare(200));
}

}  // namespace
}  // namespace pando::exec
