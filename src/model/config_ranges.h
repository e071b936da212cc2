// Ranges of the fields of a config.json. All readers and checks of a field use the same range.
#pragma once

#include "base/ranges.h"
#include "model/config.h"

namespace pando::model {

inline constexpr WholeRange kVocabSizes = {1, kMaxVocab}, kHiddenSizes = {1, kMaxWidth, 2},
                            kLayerCounts = {1, kMaxLayers}, kHeadCounts = {1, kMaxWidth},
                            kHeadSizes = {1, kMaxWidth, 4}, kFeedForwardSizes = {1, kMaxWidth, 2},
                            kPositionCounts = {1, kMaxPositions}, kConvTaps = {2, kMaxConvTaps};
inline constexpr RealRange kEpsilons = {"a number in (0, 1)", 0, 1, false, false},
                           kThetas = {"a number in [1, 1e15]", 1, 1e15, true},
                           kScales = {"a number in (0, 1e6]", 0, 1e6};

}  // namespace pando::model
