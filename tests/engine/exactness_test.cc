// The promise, by memcmp: the engine gives the bits of the plain reference forward pass, whatever
// else is in the batch, however work is shared, chunked, cached, evicted, preempted or cancelled.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <stdexcept>

#include "engine/exactness_cases.h"

namespace pando::testing {
namespace {

// PANDO_EXACTNESS_CASES sets the number of cases for each type of weights; costly kinds run the
// part `usual_share` of it. The slow tests run 2,600.
int n_cases(CaseCount usual, int usual_share = 1) {
  const char* text = std::getenv("PANDO_EXACTNESS_CASES");
  if (text == nullptr) return usual.of_set;
  const int n = std::atoi(text);
  if (n <= 0) throw std::invalid_argument("PANDO_EXACTNESS_CASES is not a number above 0");
  return std::max(1, n / usual_share);
}

constexpr int kLongCases = 3;

void run_cases(CaseWeights weights, std::optional<KvType> kv_type = {}) {
  ExactnessCases cases(weights, kv_type);
  const int n = n_cases(kAnyCases);
  int n_rows = 0, n_tiles = 0, n_real_tiles = 0, n_spans = 0, n_cancelled = 0;
  EngineStats sum;
  for (int i = 0; i < n; ++i) {
    const CaseResult result = cases.run(1000 * static_cast<uint64_t>(weights) * 1000 + i);
    ASSERT_TRUE(result.equal) << result.what;
    n_rows += result.n_rows;
    n_tiles += result.crosses_3_tiles;
    n_real_tiles += result.real_sizes && result.crosses_3_tiles;
    n_spans += result.crosses_3_spans;
    n_cancelled += result.n_cancelled;
    sum.preemptions += result.stats.preemptions;
    sum.evicted_pages += result.stats.evicted_pages;
    sum.recomputed_rows += result.stats.recomputed_rows;
  }
  for (int i = 0; i < kLongCases; ++i) {
    const CaseResult result = cases.run_long(6 * i + static_cast<uint64_t>(weights));
    ASSERT_TRUE(result.equal) << result.what;
    EXPECT_TRUE(result.real_sizes && result.crosses_3_spans);
    n_rows += result.n_rows;
  }
  const int least_share = n < 100 ? 10 : 5;  // few cases vary more
  EXPECT_GE(least_share * n_real_tiles, n) << "too few cases of real sizes cross three tiles";
  if (n >= 400) {  // every way of sharing and losing must have happened
    EXPECT_GT(n_cancelled, 0);
    EXPECT_GT(sum.preemptions, 0u);
    EXPECT_GT(sum.evicted_pages, 0u);
    EXPECT_GT(sum.recomputed_rows, 0u);
  }
  printf(
      "%d cases, %d logits rows equal; %d cases cross 3 tiles, %d of them of real size; %d cross 3 "
      "spans, %d of them of "
      "real size\n",
      n + kLongCases, n_rows, n_tiles + kLongCases, n_real_tiles + kLongCases, n_spans + kLongCases,
      kLongCases);
  printf("%d cancellations, %lu preemptions, %lu pages evicted, %lu rows recomputed\n", n_cancelled,
         sum.preemptions, sum.evicted_pages, sum.recomputed_rows);
}

// Models with recurrent layers: wherever paths part, whatever place is there, gone or made anew.
void run_recurrent_cases(CaseWeights weights, std::optional<KvType> kv_type = {}) {
  ExactnessCases cases(weights, kv_type);
  const int n = n_cases(kRecurrentCases);
  int n_rows = 0, n_cancelled = 0;
  EngineStats sum;
  for (int i = 0; i < n; ++i) {
    const CaseResult result =
        cases.run_recurrent(40'000'000 + 1000 * static_cast<uint64_t>(weights) + i);
    ASSERT_TRUE(result.equal) << result.what;
    n_rows += result.n_rows;
    n_cancelled += result.n_cancelled;
    sum.preemptions += result.stats.preemptions;
    sum.evicted_pages += result.stats.evicted_pages;
    sum.evicted_places += result.stats.evicted_places;
    sum.recomputed_rows += result.stats.recomputed_rows;
  }
  if (n >= 100) {
    EXPECT_GT(n_cancelled, 0);
    EXPECT_GT(sum.preemptions, 0u);
    EXPECT_GT(sum.evicted_pages, 0u);
    EXPECT_GT(sum.evicted_places, 0u);
    EXPECT_GT(sum.recomputed_rows, 0u);
  }
  printf(
      "%d cases, %d logits rows equal; %d cancellations, %lu preemptions, %lu pages and %lu places "
      "evicted, %lu rows recomputed\n",
      n, n_rows, n_cancelled, sum.preemptions, sum.evicted_pages, sum.evicted_places,
      sum.recomputed_rows);
}

// Models with windows that give memory back: wherever paths part, whatever is left of a window.
void run_windowed_cases(CaseWeights weights, std::optional<KvType> kv_type = {}) {
  ExactnessCases cases(weights, kv_type);
  const int n = n_cases(kWindowedCases);
  int n_rows = 0, n_cancelled = 0;
  EngineStats sum;
  for (int i = 0; i < n; ++i) {
    const CaseResult result =
        cases.run_windowed(50'000'000 + 1000 * static_cast<uint64_t>(weights) + i);
    ASSERT_TRUE(result.equal) << result.what;
    n_rows += result.n_rows;
    n_cancelled += result.n_cancelled;
    sum.preemptions += result.stats.preemptions;
    sum.evicted_pages += result.stats.evicted_pages;
    sum.recomputed_rows += result.stats.recomputed_rows;
  }
  if (n >= 100) {
    EXPECT_GT(n_cancelled, 0);
    EXPECT_GT(sum.preemptions, 0u);
    EXPECT_GT(sum.evicted_pages, 0u);
    EXPECT_GT(sum.recomputed_rows, 0u);
  }
  printf(
      "%d cases, %d logits rows equal; %d cancellations, %lu preemptions, %lu pages evicted, "
      "%lu rows recomputed\n",
      n, n_rows, n_cancelled, sum.preemptions, sum.evicted_pages, sum.recomputed_rows);
}

// Policies and budgets that cut prompts and change the order.
TEST(Exactness, PoliciesAndBudgets) {
  ExactnessCases cases(CaseWeights::kBF16);
  int n_cut_otherwise = 0;
  for (int i = 0; i < std::max(8, n_cases(kAnyCases) / 20); ++i) {
    std::set<uint64_t> hashes, n_steps;
    for (const char* policy : {"fcfs", "edf", "lrs", "lars"})
      for (const double step_budget : {0.0, 2.5e-4, 1e-3, 5e-3, 1.0}) {
        const CaseResult result = cases.run(77000000 + i, {policy, step_budget});
        ASSERT_TRUE(result.equal) << result.what;
        hashes.insert(result.logits_hash);
        n_steps.insert(result.stats.steps);
      }
    EXPECT_EQ(hashes.size(), 1u);
    n_cut_otherwise += n_steps.size() > 2;
  }
  EXPECT_GE(n_cut_otherwise, 4) << "cases in which the budget changed the steps";
}

TEST(ExactnessRecurrent, F32Weights) { run_recurrent_cases(CaseWeights::kF32); }
TEST(ExactnessRecurrent, BF16Weights) { run_recurrent_cases(CaseWeights::kBF16); }
TEST(ExactnessRecurrent, Q8_0Weights) { run_recurrent_cases(CaseWeights::kQ8_0); }
TEST(ExactnessRecurrent, Int8KeysAndValues) {
  run_recurrent_cases(CaseWeights::kF16, KvType::kInt8);
}

// Over ranks: stages of layers, divided outputs, and both.
void run_ranked_cases(CaseWeights weights, std::optional<KvType> kv_type = {}) {
  ExactnessCases cases(weights, kv_type);
  const int n = n_cases(kRankCases, 4);
  int n_rows = 0;
  for (int i = 0; i < n; ++i) {
    const CaseResult result =
        cases.run_ranks(60'000'000 + 1000 * static_cast<uint64_t>(weights) + i);
    ASSERT_TRUE(result.equal) << result.what;
    n_rows += result.n_rows;
  }
  printf("%d cases over ranks, %d logits rows equal\n", n, n_rows);
}

void run_cases_of_eight(CaseWeights weights) {
  ExactnessCases cases(weights);
  const int n = std::max(4, n_cases(kRankCases, 4) / 10);
  for (int i = 0; i < n; ++i) {
    const CaseResult result =
        cases.run_eight(70'000'000 + 1000 * static_cast<uint64_t>(weights) + i);
    ASSERT_TRUE(result.equal) << result.what;
  }
}

// States and windows, with as many steps in flight as there are stages.
void run_cases_in_flight(CaseWeights weights) {
  ExactnessCases cases(weights);
  const int n = n_cases(kInFlightRankCases);
  int n_rows = 0;
  for (int i = 0; i < n; ++i) {
    const CaseResult result =
        cases.run_in_flight(110'000'000 + 1000 * static_cast<uint64_t>(weights) + i);
    ASSERT_TRUE(result.equal) << result.what;
    n_rows += result.n_rows;
  }
  printf("%d cases with several steps in flight, %d logits rows equal\n", n, n_rows);
}

TEST(ExactnessRanks, InFlightOfBF16Weights) { run_cases_in_flight(CaseWeights::kBF16); }
TEST(ExactnessRanks, InFlightOfQ8_0Weights) { run_cases_in_flight(CaseWeights::kQ8_0); }
TEST(ExactnessRanks, EightOfBF16Weights) { run_cases_of_eight(CaseWeights::kBF16); }
TEST(ExactnessRanks, EightOfQ8_0Weights) { run_cases_of_eight(CaseWeights::kQ8_0); }
TEST(ExactnessRanks, F32Weights) { run_ranked_cases(CaseWeights::kF32); }
TEST(ExactnessRanks, BF16Weights) { run_ranked_cases(CaseWeights::kBF16); }
TEST(ExactnessRanks, Q8_0Weights) { run_ranked_cases(CaseWeights::kQ8_0); }
TEST(ExactnessRanks, Int8Weights) { run_ranked_cases(CaseWeights::kInt8); }
TEST(ExactnessRanks, Q4_KWeights) { run_ranked_cases(CaseWeights::kQ4_K); }
TEST(ExactnessRanks, Int8KeysAndValues) { run_ranked_cases(CaseWeights::kF16, KvType::kInt8); }

// Latents that all heads share: on one rank, and with queries divided over ranks.
void run_latent_cases(CaseWeights weights, std::optional<KvType> kv_type = {}) {
  ExactnessCases cases(weights, kv_type);
  const int n = n_cases(kLatentCases, 2);
  int n_rows = 0;
  for (int i = 0; i < n; ++i) {
    const CaseResult result =
        cases.run_latent(90'000'000 + 1000 * static_cast<uint64_t>(weights) + i);
    ASSERT_TRUE(result.equal) << result.what;
    n_rows += result.n_rows;
  }
  printf("%d cases over latents, %d logits rows equal\n", n, n_rows);
}

TEST(ExactnessLatent, F32Weights) { run_latent_cases(CaseWeights::kF32); }
TEST(ExactnessLatent, BF16Weights) { run_latent_cases(CaseWeights::kBF16); }
TEST(ExactnessLatent, Q8_0Weights) { run_latent_cases(CaseWeights::kQ8_0); }
TEST(ExactnessLatent, Int8Weights) { run_latent_cases(CaseWeights::kInt8); }
TEST(ExactnessLatent, Q4_KWeights) { run_latent_cases(CaseWeights::kQ4_K); }
TEST(ExactnessLatent, Int8KeysAndValues) { run_latent_cases(CaseWeights::kF16, KvType::kInt8); }

// Models with mixtures of experts, on one rank and on several: other rows with the same expert
// change no bit.
void run_mixture_cases(CaseWeights weights, std::optional<KvType> kv_type = {}) {
  ExactnessCases cases(weights, kv_type);
  const int n = n_cases(kMixtureCases, 2);
  int n_rows = 0;
  for (int i = 0; i < n; ++i) {
    const uint64_t seed = 80'000'000 + 1000 * static_cast<uint64_t>(weights) + i;
    const CaseResult result = i % 4 == 3 ? cases.run_mixture_ranks(seed) : cases.run_mixture(seed);
    ASSERT_TRUE(result.equal) << result.what;
    n_rows += result.n_rows;
  }
  printf("%d cases, %d logits rows equal\n", n, n_rows);
}

TEST(ExactnessMixtures, F32Weights) { run_mixture_cases(CaseWeights::kF32); }
TEST(ExactnessMixtures, F16Weights) { run_mixture_cases(CaseWeights::kF16); }
TEST(ExactnessMixtures, BF16Weights) { run_mixture_cases(CaseWeights::kBF16); }
TEST(ExactnessMixtures, BF16DotWeights) { run_mixture_cases(CaseWeights::kBF16Dot); }
TEST(ExactnessMixtures, Q8_0Weights) { run_mixture_cases(CaseWeights::kQ8_0); }
TEST(ExactnessMixtures, Q4_0Weights) { run_mixture_cases(CaseWeights::kQ4_0); }
TEST(ExactnessMixtures, Int8Weights) { run_mixture_cases(CaseWeights::kInt8); }
TEST(ExactnessMixtures, Q4_KWeights) { run_mixture_cases(CaseWeights::kQ4_K); }
TEST(ExactnessMixtures, Q6_KWeights) { run_mixture_cases(CaseWeights::kQ6_K); }
TEST(ExactnessMixtures, MXFP4Weights) { run_mixture_cases(CaseWeights::kMXFP4); }
TEST(ExactnessMixtures, Int8KeysAndValues) { run_mixture_cases(CaseWeights::kF16, KvType::kInt8); }

// Answers with a form beside answers of any text, over all models, with states, windows and ranks.
// Forced tokens change neither tokens nor logits, whether they are computed in one step or not.
void run_formed_cases(CaseWeights weights, std::optional<KvType> kv_type = {}) {
  ExactnessCases cases(weights, kv_type);
  const int n = n_cases(kFormCases, 4);
  int n_rows = 0, n_formed = 0, n_fewer_steps = 0;
  EngineStats sum;
  for (int i = 0; i < n; ++i) {
    const uint64_t seed = 100'000'000 + 1000 * static_cast<uint64_t>(weights) + i;
    const CaseResult together = cases.run_forms(seed);
    ASSERT_TRUE(together.equal) << together.what;
    const CaseResult alone = cases.run_forms_one_by_one(seed);
    ASSERT_TRUE(alone.equal) << alone.what;
    if (together.n_cancelled + alone.n_cancelled == 0) {  // the cancelled requests depend on the
                                                          // steps
      EXPECT_EQ(together.logits_hash, alone.logits_hash) << seed;
    }
    n_rows += together.n_rows;
    n_formed += together.n_formed;
    n_fewer_steps += together.stats.steps < alone.stats.steps;
    sum.preemptions += together.stats.preemptions;
    sum.evicted_pages += together.stats.evicted_pages;
  }
  if (n >= 100) {
    EXPECT_GT(n_formed, 0);
    EXPECT_GT(n_fewer_steps, 0);
    EXPECT_GT(sum.preemptions, 0u);
    EXPECT_GT(sum.evicted_pages, 0u);
  }
  printf("%d cases with forms, %d answers of a form finished, %d logits rows equal\n", n, n_formed,
         n_rows);
}

// Answers that another engine began, with and without a form, over the same models.
void run_begun_cases(CaseWeights weights, std::optional<KvType> kv_type = {}) {
  ExactnessCases cases(weights, kv_type);
  const int n = n_cases(kBegunCases, 4);
  int n_rows = 0;
  for (int i = 0; i < n; ++i) {
    const CaseResult result =
        cases.run_begun(110'000'000 + 1000 * static_cast<uint64_t>(weights) + i);
    ASSERT_TRUE(result.equal) << result.what;
    n_rows += result.n_rows;
  }
  printf("%d cases of answers that go on, %d logits rows equal\n", n, n_rows);
}

TEST(ExactnessBegun, F32Weights) { run_begun_cases(CaseWeights::kF32); }
TEST(ExactnessBegun, BF16Weights) { run_begun_cases(CaseWeights::kBF16); }
TEST(ExactnessBegun, Q8_0Weights) { run_begun_cases(CaseWeights::kQ8_0); }
TEST(ExactnessBegun, Q4_KWeights) { run_begun_cases(CaseWeights::kQ4_K); }
TEST(ExactnessBegun, Int8KeysAndValues) { run_begun_cases(CaseWeights::kF16, KvType::kInt8); }

TEST(ExactnessForms, F32Weights) { run_formed_cases(CaseWeights::kF32); }
TEST(ExactnessForms, BF16Weights) { run_formed_cases(CaseWeights::kBF16); }
TEST(ExactnessForms, Q8_0Weights) { run_formed_cases(CaseWeights::kQ8_0); }
TEST(ExactnessForms, Q4_KWeights) { run_formed_cases(CaseWeights::kQ4_K); }
TEST(ExactnessForms, Int8KeysAndValues) { run_formed_cases(CaseWeights::kF16, KvType::kInt8); }

TEST(ExactnessWindowed, F32Weights) { run_windowed_cases(CaseWeights::kF32); }
TEST(ExactnessWindowed, BF16Weights) { run_windowed_cases(CaseWeights::kBF16); }
TEST(ExactnessWindowed, Q8_0Weights) { run_windowed_cases(CaseWeights::kQ8_0); }
TEST(ExactnessWindowed, Int8KeysAndValues) { run_windowed_cases(CaseWeights::kF16, KvType::kInt8); }

TEST(Exactness, F32Weights) { run_cases(CaseWeights::kF32); }
TEST(Exactness, F16Weights) { run_cases(CaseWeights::kF16); }
TEST(Exactness, BF16Weights) { run_cases(CaseWeights::kBF16); }
TEST(Exactness, Q8_0Weights) { run_cases(CaseWeights::kQ8_0); }
TEST(Exactness, Q4_0Weights) { run_cases(CaseWeights::kQ4_0); }
TEST(Exactness, Int8Weights) { run_cases(CaseWeights::kInt8); }
TEST(Exactness, Q4_KWeights) { run_cases(CaseWeights::kQ4_K); }
TEST(Exactness, BF16DotWeights) { run_cases(CaseWeights::kBF16Dot); }
TEST(Exactness, Q4_1Weights) { run_cases(CaseWeights::kQ4_1); }
TEST(Exactness, Q5_0Weights) { run_cases(CaseWeights::kQ5_0); }
TEST(Exactness, Q5_1Weights) { run_cases(CaseWeights::kQ5_1); }
TEST(Exactness, Q5_KWeights) { run_cases(CaseWeights::kQ5_K); }
TEST(Exactness, Q6_KWeights) { run_cases(CaseWeights::kQ6_K); }
TEST(Exactness, IQ4_NLWeights) { run_cases(CaseWeights::kIQ4_NL); }
TEST(Exactness, IQ4_XSWeights) { run_cases(CaseWeights::kIQ4_XS); }
TEST(Exactness, MXFP4Weights) { run_cases(CaseWeights::kMXFP4); }
TEST(Exactness, Int8KeysAndValues) { run_cases(CaseWeights::kF32, KvType::kInt8); }
TEST(Exactness, Q8_0WeightsInt8KeysAndValues) { run_cases(CaseWeights::kQ8_0, KvType::kInt8); }

}  // namespace
}  // namespace pando::testing
