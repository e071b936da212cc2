// Deliberate faults, for proving that the exactness tests can fail. The product is built without
// PANDO_FAULT_INJECTION: `fault_on` is then constant false and costs nothing. The test library
// defines it, and one fault at a time is switched on.
#pragma once

#include <atomic>

namespace pando {

enum class Fault {
  kNone,
  kSplitSumOverK,        // matrix products: two partial sums over K once M >= 64
  kFoldPerPage,          // attention: the softmax state is updated per page instead of per tile
  kStaleLane,            // attention: one position beyond the row's own is visible
  kMaskedLaneTimesZero,  // attention: masked values are multiplied by zero instead of skipped
  kWindowTooWide,        // attention: one position before the row's window is visible
  kSpanFoldLeft,         // attention: spans merged left to right instead of as an aligned tree
  kTextSeesBefore,       // texts: rows see only what is before them
  kTextRowLost,          // texts: between two steps the last row forgets its hidden state
  kJoinedTooLate,        // texts: a request joins an equal text that has given outputs
  kSinkLostInParts,      // attention: threads that divide the spans of a row leave out its sink
  kCopyOneLaneShort,     // pages: a copy on write leaves out its last position
  kFanOutMissing,        // pages: a row is written to its own page only
  kPositionAfterSplit,   // tree: the lower part of a split node starts one position late
  kCommitTooMuch,        // tree: the lower part of a split node counts one token too many
  kScalarTailRow,        // row operations: the last row of an odd number sums in another order
  kWrongCounterKey,      // sampling: the random counter leaves out the position
  kEvictPinned,          // cache: eviction ignores a running sequence
  kRopeFromChunk,        // rotary embedding: positions restart in every chunk
  kStateOneTokenLate,    // plan: a place gets the state behind the next row
  kStateOfSibling,       // plan: a path goes on from the state that the step wrote last
  kConvInputLost,        // recurrent layers: a convolution forgets inputs of the step before
  kMatrixLost,           // recurrent layers: a head's matrix starts from zeros in every step
  kCommitWithoutSwap,    // places: after a step its sequences go on from the states before it
  kEvictHeldPlace,       // places: eviction ignores sequences that go on from there
  kPlaceTooFar,          // places: a path goes on from a place behind its first row
  kPlaceBeforeSplit,     // places: a place at the cut of a split node stays with the lower part
  kWindowPageTooEarly,   // windows: a page is given back while its last position is still seen
  kWindowOfGoneBranch,   // windows: a page counts the positions of a branch that left it
  kWindowCopyMissing,    // windows: a copy on write leaves out the layers with a window
  kWindowFanOutMissing,  // windows: a row is written to its own window page only
  kGatherOwnTwice,       // ranks: the first peer's part of rows is this rank's own
  kCopyLostInSlices,     // ranks: a step that is cut into slices copies no pages
  kStateLostInSlices,    // ranks: a slice that begins inside a state task starts from zeros
  kBlockOfFirstRow,      // ranks: all rows take the first state that came from another rank
  kKeysNotSpread,        // ranks: queries go to other ranks without their keys and values
  kCopyOnFirstPart,      // ranks: only the first of several parts copies pages
  kOutputsByPart,        // ranks: outputs are joined by part, not in the order of rows
  kDealtTokensStay,      // ranks: rows that move to their parts take the tokens of other rows
  kStageSumLost,         // ranks: a stage sends rows without the sum of its last layer
  kHeadsOfFirstRank,     // ranks: after a norm over all heads, a rank goes on with the first's
  kHeadRunsJoined,       // ranks: heads that lie apart are gathered as if they were neighbours
  kLogitSliceEarly,      // ranks: a slice of logits begins one token too early
  kFlightFannedOut,      // pages: rows of a step in flight are fanned out instead of copied
  kSplitLosesFlight,     // tree: a split leaves tokens of a step in flight to the lower part
  kAbortLeavesIssue,     // tree: tokens of a step in flight that failed stay issued
  kFlightSlotTaken,      // places: a slot that a step in flight writes is taken for another place
  kAbortLeavesWindow,    // windows: positions of a step in flight that failed count as written
  kAskedTwice,           // engine: outputs that a step in flight gives are asked for again
  kExpertRowsReversed,   // mixtures: an expert's rows are multiplied in another order than added
  kExpertsByWeight,      // mixtures: outputs of experts are added in the order of their weights
  kExpertTailLane,       // mixtures: the last inner value of an expert lacks its activation
  kRouterTieToLast,      // mixtures: the last of equal scores wins
  kLatentFormByRows,     // latent attention: few rows are computed in another form than many
  kHalfCharacterBarred,  // forms: a mask leaves out tokens that begin inside a character
  kForcedRowTooMany,     // forms: the row of a forced token that ends the answer is computed too
  kForcedNotFollowed,    // forms: the filter does not follow a token that it forced
  kForcedLost,           // forms: a preempted answer forgets its forced tokens
  kBegunNotFollowed,     // forms: the filter does not follow tokens that another engine drew
  kCount,                // number of faults that change bits
  kKilledInJournal,      // batch: the process is killed half-way through a write to the journal
};

#ifdef PANDO_FAULT_INJECTION
inline std::atomic<Fault> active_fault{Fault::kNone};
inline bool fault_on(Fault fault) { return active_fault.load(std::memory_order_relaxed) == fault; }
#else
constexpr bool fault_on(Fault) { return false; }
#endif

}  // namespace pando
