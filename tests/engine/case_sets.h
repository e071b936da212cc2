// The sets of exactness cases of exactness_test.cc, for devices other than the CPU.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/exactness_cases.h"

namespace pando::testing {

struct CaseSet {
  const char* name;
  CaseResult (ExactnessCases::*run)(uint64_t seed);
  uint64_t first_seed;
  std::vector<CaseWeights> weights;  // with f16 weights, also int8 keys and values
};

inline const CaseSet kCaseSets[] = {
    {"Any",
     &ExactnessCases::run,
     1000,
     {CaseWeights::kF32, CaseWeights::kF16, CaseWeights::kBF16, CaseWeights::kQ8_0,
      CaseWeights::kInt8, CaseWeights::kQ4_K, CaseWeights::kQ6_K, CaseWeights::kMXFP4,
      CaseWeights::kBF16Dot}},
    {"Windows",
     &ExactnessCases::run_windowed,
     50'000'000,
     {CaseWeights::kF16, CaseWeights::kBF16, CaseWeights::kQ8_0}},
    {"Mixtures",
     &ExactnessCases::run_mixture,
     80'000'000,
     {CaseWeights::kF32, CaseWeights::kF16, CaseWeights::kQ8_0, CaseWeights::kQ4_K,
      CaseWeights::kMXFP4}},
    {"Recurrent",
     &ExactnessCases::run_recurrent,
     40'000'000,
     {CaseWeights::kF32, CaseWeights::kF16, CaseWeights::kBF16, CaseWeights::kQ8_0}},
    {"Latents",
     &ExactnessCases::run_latent,
     90'000'000,
     {CaseWeights::kF32, CaseWeights::kF16, CaseWeights::kQ8_0, CaseWeights::kInt8,
      CaseWeights::kQ4_K}},
    {"Stages",
     &ExactnessCases::run_ranks,
     60'000'000,
     {CaseWeights::kF32, CaseWeights::kF16, CaseWeights::kQ8_0}},
    {"InFlight", &ExactnessCases::run_in_flight, 110'000'000, {CaseWeights::kBF16}},
    {"Forms", &ExactnessCases::run_forms, 100'000'000, {CaseWeights::kBF16, CaseWeights::kQ8_0}},
    {"Begun", &ExactnessCases::run_begun, 110'000'000, {CaseWeights::kF32}}};

// Runs n_cases for each weight type of the set.
inline void expect_bits_of_reference(const CaseSet& set, CaseDevice device, int n_cases) {
  int n_rows = 0;
  for (const CaseWeights weights : set.weights) {
    const bool has_int8_keys = weights == CaseWeights::kF16;
    ExactnessCases cases(weights, has_int8_keys ? std::optional(KvType::kInt8) : std::nullopt,
                         device);
    for (int i = 0; i < n_cases; ++i) {
      const uint64_t seed =
          set.first_seed + 1000 * static_cast<uint64_t>(weights) + static_cast<uint64_t>(i);
      const CaseResult result = (cases.*set.run)(seed);
      ASSERT_TRUE(result.equal) << result.what;
      n_rows += result.n_rows;
    }
  }
  EXPECT_GT(n_rows, 100);
}

}  // namespace pando::testing
