// Shows that the exactness tests can fail: they find each deliberate fault within a fifth of the
// cases of its kind that they run.
#include "base/fault.h"

#include <gtest/gtest.h>

#include "engine/exactness_cases.h"
#include "engine/in_flight_cases.h"
#include "engine/text_cases.h"

namespace pando::testing {
namespace {

// Returns the difference that the case of this seed shows; empty: none.
using RunCase = std::string (*)(ExactnessCases& cases, uint64_t seed);

template <CaseResult (ExactnessCases::*run)(uint64_t)>
std::string run_case(ExactnessCases& cases, uint64_t seed) {
  return (cases.*run)(seed).what;
}

// A kind of cases that shows a fault.
struct Kind {
  RunCase run;
  int within;  // most cases that it may take
};
constexpr Kind kAny{run_case<&ExactnessCases::run>, kAnyCases.within()},
    kRecurrent{run_case<&ExactnessCases::run_recurrent>, kRecurrentCases.within()},
    kWindowed{run_case<&ExactnessCases::run_windowed>, kWindowedCases.within()},
    kRanks{run_case<&ExactnessCases::run_ranks>, kRankCases.within()},
    kLatent{run_case<&ExactnessCases::run_latent>, kLatentCases.within()},
    kMixtures{run_case<&ExactnessCases::run_mixture>, kMixtureCases.within()},
    kForms{run_case<&ExactnessCases::run_forms>, kFormCases.within()},
    kBegun{run_case<&ExactnessCases::run_begun>, kBegunCases.within()},
    kInFlight{[](ExactnessCases&, uint64_t seed) { return run_in_flight(seed).what; },
              kInFlightCases / 5},
    kTexts{[](ExactnessCases&, uint64_t seed) { return run_text_case("", seed).what; },
           kTextCases / 5};

struct NamedFault {
  Fault fault;
  const char* name;
  Kind kind = kAny;
};

class FaultTest : public ::testing::TestWithParam<NamedFault> {};

// The number of the first case that shows the fault, or -1. A check that trips counts as found.
int first_case_that_fails(ExactnessCases& cases, const NamedFault& fault) {
  for (int i = 0; i < fault.kind.within; ++i) {
    try {
      if (!fault.kind.run(cases, i).empty()) return i;
    } catch (const std::exception&) {
      return i;
    }
  }
  return -1;
}

TEST_P(FaultTest, IsFound) {
  ExactnessCases cases(CaseWeights::kBF16);
  active_fault = GetParam().fault;
  const int found = first_case_that_fails(cases, GetParam());
  active_fault = Fault::kNone;
  ASSERT_GE(found, 0) << "not found";
  // It is the fault that was found, nothing else.
  EXPECT_EQ(GetParam().kind.run(cases, found), "");
  printf("found by case %d, expected below %d\n", found, GetParam().kind.within);
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
                      NamedFault{Fault::kStateLostInSlices, "StateLostInSlices", kRanks},
                      NamedFault{Fault::kBlockOfFirstRow, "BlockOfFirstRow", kRanks},
                      NamedFault{Fault::kKeysNotSpread, "KeysNotSpread", kRanks},
                      NamedFault{Fault::kCopyOnFirstPart, "CopyOnFirstPart", kRanks},
                      NamedFault{Fault::kOutputsByPart, "OutputsByPart", kRanks},
                      NamedFault{Fault::kDealtTokensStay, "DealtTokensStay", kRanks},
                      NamedFault{Fault::kStageSumLost, "StageSumLost", kRanks},
                      NamedFault{Fault::kHeadsOfFirstRank, "HeadsOfFirstRank", kRanks},
                      NamedFault{Fault::kHeadRunsJoined, "HeadRunsJoined", kRanks},
                      NamedFault{Fault::kLogitSliceEarly, "LogitSliceEarly", kRanks},
                      NamedFault{Fault::kLatentFormByRows, "LatentFormByRows", kLatent},
                      NamedFault{Fault::kExpertRowsReversed, "ExpertRowsReversed", kMixtures},
                      NamedFault{Fault::kExpertsByWeight, "ExpertsByWeight", kMixtures},
                      NamedFault{Fault::kExpertTailLane, "ExpertTailLane", kMixtures},
                      NamedFault{Fault::kRouterTieToLast, "RouterTieToLast", kMixtures},
                      NamedFault{Fault::kHalfCharacterBarred, "HalfCharacterBarred", kForms},
                      NamedFault{Fault::kForcedRowTooMany, "ForcedRowTooMany", kForms},
                      NamedFault{Fault::kForcedNotFollowed, "ForcedNotFollowed", kForms},
                      NamedFault{Fault::kForcedLost, "ForcedLost", kForms},
                      NamedFault{Fault::kBegunNotFollowed, "BegunNotFollowed", kBegun},
                      NamedFault{Fault::kFlightFannedOut, "FlightFannedOut", kInFlight},
                      NamedFault{Fault::kSplitLosesFlight, "SplitLosesFlight", kInFlight},
                      NamedFault{Fault::kAbortLeavesIssue, "AbortLeavesIssue", kInFlight},
                      NamedFault{Fault::kFlightSlotTaken, "FlightSlotTaken", kInFlight},
                      NamedFault{Fault::kAbortLeavesWindow, "AbortLeavesWindow", kInFlight},
                      NamedFault{Fault::kAskedTwice, "AskedTwice", kInFlight},
                      NamedFault{Fault::kTextSeesBefore, "TextSeesBefore", kTexts},
                      NamedFault{Fault::kTextRowLost, "TextRowLost", kTexts},
                      NamedFault{Fault::kJoinedTooLate, "JoinedTooLate", kTexts}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace pando::testing
