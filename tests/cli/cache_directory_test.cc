#include "cli/cache_directory.h"

#include <gtest/gtest.h>

namespace pando::cli {
namespace {

TEST(CacheDirectory, LeavesARelativeOneOutOfAccount) {
  setenv("HOME", "/home/somebody", 1);
  for (const auto& [variable, expected] : {std::pair{"/var/cache/mine", "/var/cache/mine/pando"},
                                           {"mine", "/home/somebody/.cache/pando"},
                                           {"", "/home/somebody/.cache/pando"}}) {
    setenv("XDG_CACHE_HOME", variable, 1);
    EXPECT_EQ(cache_directory(), expected) << variable;
  }
}

}  // namespace
}  // namespace pando::cli
