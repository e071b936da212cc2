// The exactness test can fail: each deliberate fault is found within 1,000 cases.
#include "base/fault.h"

#include <gtest/gtest.h>

#include "engine/exactness_cases.h"

namespace pando::testing {
namespace {

using RunCase = CaseResult (ExactnessCases::*)(uint64_t);
constexpr RunCase kAny = &ExactnessCases::run, kRecurrent = &ExactnessCases::run_recurrent,
                  kWindowed = &ExactnessCases::run_windowed, kRanks = &ExactnessCases::run_ranks,
                  kLatent = &ExactnessCases::run_latent, kMixtures = &ExactnessCases::run_mixture,
                  kForms = &ExactnessCases::run_forms;

struct NamedFault {
  Fault fault;
  const char* name;
  RunCase run = kAny;  // cases that show it
};

class FaultTest : public ::testing::TestWithParam<NamedFault> {};

// The number of the first case that shows the fault, or -1. A check that trips counts as found.
int first_case_that_fails(ExactnessCases& cases, const NamedFault& fault) {
  for (int i = 0; i < 1000; ++i) {
    try {
      if (!(cases.*fault.run)(i).equal) return i;
    } catch (const std::exception&) {
      return i;
    }
  }
  return -1;
}

TEST_P(FaultTest, IsFoundWithin1000Cases) {
  ExactnessCases cases(CaseWeights::kBF16);
  active_fault = GetParam().fault;
  const int found = first_case_that_fails(cases, GetParam());
  active_fault = Fault::kNone;
  ASSERT_GE(found, 0) << "not found";
  // It is the fault that was found, nothing else.
  const CaseResult without = (cases.*GetParam().run)(found);
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
                      NamedFault{Fault::kSinkLostInParts, "SinkLostInParts", kMixtures},
                      NamedFault{Fault::kCopyOneLaneShort, "CopyOneLaneShort"},
                      NamedFault{Fault::kFanOutMissing, "FanOutMissing"},
                      NamedFault{Fault::kPositionAfterSplit, "PositionAfterSplit"},
                      NamedFault{Fault::kCommitTooMuch, "CommitTooMuch"},
                      NamedFault{Fault::kScalarTailRow, "ScalarTailRow"},
                      NamedFault{Fault::kWrongCounterKey, "WrongCounterKey"},
                      NamedFault{Fault::kEvictPinned, "EvictPinned"},
                      NamedFault{Fault::kRopeFromChunk, "RopeFromChunk"},
                      NamedFault{Fault::kStateOneTokenLate, "StateOneTokenLate", kRecurrent},
                      NamedFault{Fault::kStateOfSibling, "StateOfSibling", kRecurrent},
                      NamedFault{Fault::kConvInputLost, "ConvInputLost", kRecurrent},
                      NamedFault{Fault::kMatrixLost, "MatrixLost", kRecurrent},
                      NamedFault{Fault::kCommitWithoutSwap, "CommitWithoutSwap", kRecurrent},
                      NamedFault{Fault::kEvictHeldPlace, "EvictHeldPlace", kRecurrent},
                      NamedFault{Fault::kPlaceTooFar, "PlaceTooFar", kRecurrent},
                      NamedFault{Fault::kPlaceBeforeSplit, "PlaceBeforeSplit", kRecurrent},
                      NamedFault{Fault::kWindowPageTooEarly, "WindowPageTooEarly", kWindowed},
                      NamedFault{Fault::kWindowOfGoneBranch, "WindowOfGoneBranch", kWindowed},
                      NamedFault{Fault::kWindowCopyMissing, "WindowCopyMissing", kWindowed},
                      NamedFault{Fault::kWindowFanOutMissing, "WindowFanOutMissing", kWindowed},
                      NamedFault{Fault::kGatherOwnTwice, "GatherOwnTwice", kRanks},
                      NamedFault{Fault::kCopyLostInSlices, "CopyLostInSlices", kRanks},
                      NamedFault{Fault::kBlockOfFirstRow, "BlockOfFirstRow", kRanks},
                      NamedFault{Fault::kKeysNotSpread, "KeysNotSpread", kRanks},
                      NamedFault{Fault::kCopyOnFirstPart, "CopyOnFirstPart", kRanks},
                      NamedFault{Fault::kOutputsByPart, "OutputsByPart", kRanks},
                      NamedFault{Fault::kStageSumLost, "StageSumLost", kRanks},
                      NamedFault{Fault::kHeadsOfFirstRank, "HeadsOfFirstRank", kRanks},
                      NamedFault{Fault::kHeadRunsJoined, "HeadRunsJoined", kRanks},
                      NamedFault{Fault::kLatentFormByRows, "LatentFormByRows", kLatent},
                      NamedFault{Fault::kExpertRowsReversed, "ExpertRowsReversed", kMixtures},
                      NamedFault{Fault::kExpertsByWeight, "ExpertsByWeight", kMixtures},
                      NamedFault{Fault::kExpertTailLane, "ExpertTailLane", kMixtures},
                      NamedFault{Fault::kRouterTieToLast, "RouterTieToLast", kMixtures},
                      NamedFault{Fault::kHalfCharacterBarred, "HalfCharacterBarred", kForms},
                      NamedFault{Fault::kForcedRowTooMany, "ForcedRowTooMany", kForms},
                      NamedFault{Fault::kForcedNotFollowed, "ForcedNotFollowed", kForms},
                      NamedFault{Fault::kForcedLost, "ForcedLost", kForms}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace pando::testing
