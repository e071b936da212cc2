// IPPD's data sets as the paper has them: table 1, and what table 5 says of Qwen3-1.7B, the
// smallest model.
#pragma once

#include "bench/tokens.h"
#include "lab/experiment.h"

namespace pando::lab {

struct PaperSet {
  const char* name;
  QaShape shape;
  int usual_contexts, full_contexts;  // sizes of ippd-table-5, without and with --full
  size_t asked_alone;  // questions to contestants without sharing; each question costs the same
  double batched_qps, prefix_cached_qps, ippd_qps;  // table 5
};
constexpr PaperSet kPaperSets[] = {
    {"NarrativeQA", {2754, 737, 12, 6, 29.73}, 1, 3, 4, 4.54, 78.20, 105.91},
    {"SQuAD 2.0", {47, 178, 13, 4, 8.7}, 3, 3, 16, 35.36, 172.07, 145.02},
    {"RACE", {40, 344, 40, 1, 3.51}, 3, 3, 16, 77.74, 94.88, 169.79},
    {"LongHealth", {73, 11720, 73, 1, 20}, 1, 1, 1, 2.40, 33.33, 20.34},
};

}  // namespace pando::lab
