// The exactness test can fail: each deliberate fault is found within 1,000 cases.
#include "base/fault.h"

#include <gtest/gtest.h>

#include "engine/exactness_cases.h"

namespace pando::testing {
namespace {

struct NamedFault {
  Fault fault;
  const char* name;
  bool recurrent = false;  // cases of models with recurrent layers show it
};

class FaultTest : public ::testing::TestWithParam<NamedFault> {};

// The number of the first case that shows the fault, or -1. A check that trips counts as found.
int first_case_that_fails(ExactnessCases& cases, bool recurrent) {
  for (int i = 0; i < 1000; ++i) {
    try {
      if (!(recurrent ? cases.run_recurrent(i) : cases.run(i)).equal) return i;
    } catch (const std::exception&) {
      return i;
    }
  }
  return -1;
}

TEST_P(FaultTest, IsFoundWithin1000Cases) {
  ExactnessCases cases(CaseWeights::kBF16);
  active_fault = GetParam().fault;
  const bool recurrent = GetParam().recurrent;
  const int found = first_case_that_fails(cases, recurrent);
  active_fault = Fault::kNone;
  ASSERT_GE(found, 0) << "not found";
  // It is the fault that was found, nothing else.
  const CaseResult without = recurrent ? cases.run_recurrent(found) : cases.run(found);
  EXPECT_TRUE(without.equal) << without.what;
  printf("found by case %d\n", found);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, FaultTest,
    ::testing::Values(NamedFault{Fault::kSplitSumOverK, "SplitSumOverK"},
                      NamedFault{Fault::kFoldPerPage, "FoldPerPage"},
                      NamedFault{Fault::kStaleLane, "StaleLane"},
                      NamedFault{Fault::kMaskedLaneTimesZero, "MaskedLaneTimesZero"},
                      NamedFault{Fault::kWindowTooWide, "WindowTooWide"},
                      NamedFault{Fault::kSpanFoldLeft, "SpanFoldLeft"},
                      NamedFault{Fault::kCopyOneLaneShort, "CopyOneLaneShort"},
                      NamedFault{Fault::kFanOutMissing, "FanOutMissing"},
                      NamedFault{Fault::kPositionAfterSplit, "PositionAfterSplit"},
                      NamedFault{Fault::kCommitTooMuch, "CommitTooMuch"},
                      NamedFault{Fault::kScalarTailRow, "ScalarTailRow"},
                      NamedFault{Fault::kWrongCounterKey, "WrongCounterKey"},
                      NamedFault{Fault::kEvictPinned, "EvictPinned"},
                      NamedFault{Fault::kRopeFromChunk, "RopeFromChunk"},
                      NamedFault{Fault::kStateOneTokenLate, "StateOneTokenLate", true},
                      NamedFault{Fault::kStateOfSibling, "StateOfSibling", true},
                      NamedFault{Fault::kConvInputLost, "ConvInputLost", true},
                      NamedFault{Fault::kMatrixLost, "MatrixLost", true},
                      NamedFault{Fault::kCommitWithoutSwap, "CommitWithoutSwap", true},
                      NamedFault{Fault::kEvictHeldPlace, "EvictHeldPlace", true},
                      NamedFault{Fault::kPlaceTooFar, "PlaceTooFar", true},
                      NamedFault{Fault::kPlaceBeforeSplit, "PlaceBeforeSplit", true}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace pando::testing
