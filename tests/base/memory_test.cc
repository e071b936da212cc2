#include "base/memory.h"

#include <gtest/gtest.h>

#include <limits>
#include <new>

namespace pando {
namespace {

// An allocation that can never succeed takes both parts of the reserve, which can be filled again.
TEST(MemoryReserve, IsSpentByWhatFailsAndFilledAgain) {
  const std::new_handler before = std::get_new_handler();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(MemoryReserve::fill());
    EXPECT_THROW(static_cast<void>(::operator new(std::numeric_limits<size_t>::max() / 4)),
                 std::bad_alloc);
  }
  EXPECT_TRUE(MemoryReserve::fill());
  std::set_new_handler(before);
}

}  // namespace
}  // namespace pando
