#include "serve/gate.h"

#include <gtest/gtest.h>

namespace pando::serve {
namespace {

TEST(Gate, LetsNobodyInOnceItIsClosed) {
  Gate gate;
  int n_in = 0;
  gate.pass([&] { ++n_in; });
  gate.close();
  gate.pass([&] { ++n_in; });
  EXPECT_EQ(n_in, 1);
}

}  // namespace
}  // namespace pando::serve
