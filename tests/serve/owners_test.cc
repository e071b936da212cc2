#include "serve/owners.h"

#include <gtest/gtest.h>

#include "serve/routed.h"

namespace pando::testing {
namespace {

using serve::Owners;

TEST(Owners, AreFoundAgain) {
  const Owners owners({"", "one", "two"});
  EXPECT_EQ(owners.of(1), "one");
  EXPECT_EQ(owners.key_of(""), 0u);
  EXPECT_EQ(owners.key_of("two"), 2u);
  EXPECT_EQ(Owners({"", "two"}).key_of("two"), 1u);
  EXPECT_FALSE(Owners({"", "two"}).key_of("one"));
}

TEST(Owners, OfRoutersStandForThemselves) {
  const Owners owners({"", "one"});
  for (const uint64_t client : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
    const uint64_t key = serve::key_of_owner(client);
    EXPECT_EQ(Owners({""}).key_of(owners.of(key)), key);
  }
  EXPECT_FALSE(owners.key_of("routed x"));
}

}  // namespace
}  // namespace pando::testing
