// Dimensions of attention in one head, by formula: IPPD, table 3 and appendix A.2.
#pragma once

#include "bench/tokens.h"
#include "lab/experiment.h"

namespace pando::lab {

// Counts all questions of one context. Reads: keys and values that are loaded, in tokens; products:
// pairs of query and key, those that a mask then hides among them.
struct AttentionDimensions {
  double prefill_q, prefill_kv;  // of the first pass
  double next_q, next_kv;        // of each pass that follows, where there are several; 0: none
  double prefills;               // passes
  double decode_q, decode_kv;    // of a pass for answer tokens, the mean over the answer
  double decodes;                // passes
  double reads, products;        // of all passes
};

// Passes of one question each, over a cache of what is shared.
AttentionDimensions prefix_cached_dimensions(const QaShape& shape);
// One stack for each context: every query meets every key.
AttentionDimensions stacked_dimensions(const QaShape& shape);
// One pass, as the stack's, but a query meets the keys of its own path only.
AttentionDimensions tree_dimensions(const QaShape& shape);

}  // namespace pando::lab
