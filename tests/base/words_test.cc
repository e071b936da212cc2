// Numbers with their nouns, in messages.
#include <gtest/gtest.h>

#include "base/counted.h"

namespace pando {
namespace {

TEST(Counted, OneIsSingular) {
  EXPECT_EQ(counted(0, "answers"), "0 answers");
  EXPECT_EQ(counted(1, "answers"), "1 answer");
  EXPECT_EQ(counted(2, "answers"), "2 answers");
  EXPECT_EQ(counted(1, "bad lines"), "1 bad line");
  EXPECT_EQ(counted(1, "queries"), "1 query");
  EXPECT_EQ(counted(1, "processes"), "1 process");
}

}  // namespace
}  // namespace pando
