// The promise, by memcmp: the engine gives the bits of the plain reference forward pass, whatever
// else is in the batch, however work is shared, chunked, cached, evicted, preempted or cancelled.
#include <gtest/gtest.h>

#include <cstdlib>

#include "engine/exactness_cases.h"

namespace pando::testing {
namespace {

// PANDO_EXACTNESS_CASES sets the number of cases for each type of weights. The slow tests run 2,600.
int n_cases() {
  const char* text = std::getenv("PANDO_EXACTNESS_CASES");
  return text != nullptr ? std::atoi(text) : 400;
}

void run_cases(CaseWeights weights) {
  ExactnessCases cases(weights);
  int n_rows = 0, n_tiles = 0, n_spans = 0;
  for (int i = 0; i < n_cases(); ++i) {
    const CaseResult result = cases.run(1000 * static_cast<uint64_t>(weights) * 1000 + i);
    ASSERT_TRUE(result.equal) << result.what;
    n_rows += result.n_rows;
    n_tiles += result.crosses_3_tiles;
    n_spans += result.crosses_3_spans;
  }
  const CaseResult result = cases.run_long(static_cast<uint64_t>(weights));
  ASSERT_TRUE(result.equal) << result.what;
  EXPECT_TRUE(result.crosses_3_spans);
  EXPECT_GE(5 * n_tiles, n_cases()) << "too few cases cross three tiles";
  printf("%d cases, %d logits rows equal; %d cases cross 3 tiles, %d cross 3 spans\n", n_cases() + 1, n_rows,
         n_tiles + 1, n_spans + 1);
}

TEST(Exactness, F32Weights) { run_cases(CaseWeights::kF32); }
TEST(Exactness, F16Weights) { run_cases(CaseWeights::kF16); }
TEST(Exactness, BF16Weights) { run_cases(CaseWeights::kBF16); }
TEST(Exactness, Q8_0Weights) { run_cases(CaseWeights::kQ8_0); }

}  // namespace
}  // namespace pando::testing
