// Verifying finds sharing that is broken on purpose.
#include <gtest/gtest.h>

#include "base/fault.h"
#include "batch/verify_testing.h"

namespace pando::testing {
namespace {

class Faulty {
 public:
  explicit Faulty(Fault fault) { active_fault = fault; }
  ~Faulty() { active_fault = Fault::kNone; }
};

TEST(VerifyFault, WithoutAFaultAllIsEqual) {
  EXPECT_TRUE(verify(kVerifyInput, run_shared(kVerifyInput)).different.empty());
}

// The fault is there in both runs, as in a user's: only what is shared meets it.
// One after the other, so that every branch begins with a copy of a page that is committed.
TEST(VerifyFault, ACopyThatIsTooShortIsFound) {
  const Faulty faulty(Fault::kCopyOneLaneShort);
  EngineOptions options = tiny_options();
  options.max_running = 1;
  EXPECT_FALSE(verify(kVerifyInput, run_shared(kVerifyInput, options)).different.empty());
}

TEST(VerifyFault, ABranchThatStartsLateIsFound) {
  const Faulty faulty(Fault::kPositionAfterSplit);
  EXPECT_FALSE(verify(kVerifyInput, run_shared(kVerifyInput)).different.empty());
}

}  // namespace
}  // namespace pando::testing
