// Random scenarios in which the engine must give the bits of the plain reference forward pass.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/exactness_models.h"
#include "engine/exactness_scenario.h"
#include "pando/engine.h"

namespace pando::testing {

// The number of cases of a kind, unless PANDO_EXACTNESS_CASES sets another: of_set in each of
// n_sets sets, which differ in the type of weights. Each deliberate fault is found within a fifth
// of all cases (fault_test.cc).
struct CaseCount {
  int of_set, n_sets;
  constexpr int within() const { return of_set * n_sets / 5; }
};
constexpr CaseCount kAnyCases{40, 18}, kRecurrentCases{40, 4}, kWindowedCases{40, 4},
    kRankCases{24, 6}, kInFlightRankCases{12, 2}, kLatentCases{20, 6}, kMixtureCases{60, 11},
    kFormCases{36, 5}, kBegunCases{24, 5};

struct CaseResult {
  bool equal = true;
  std::string what;              // the first difference and the scenario, for people
  int n_rows = 0;                // logits rows compared
  uint64_t logits_hash = 0;      // over these rows, by request, choice and position
  bool crosses_3_tiles = false;  // a sequence of the case has tokens in more than three tiles
  bool crosses_3_spans = false;
  bool real_sizes = false;  // tiles of 64 and spans of 2,048 positions
  int n_cancelled = 0;
  int n_formed = 0;                              // answers that have a form and are finished
  std::vector<std::vector<Completion>> answers;  // [requests], by choice
  EngineStats stats;
};

// Cases over tiny random models with weights of one kind.
class ExactnessCases {
 public:
  // kv_type: for all cases; without it each case draws f32, f16 or bf16. Other devices use the
  // CPU's cases without features that only the CPU has (as_plain, as_hosted).
  explicit ExactnessCases(CaseWeights weights, std::optional<KvType> kv_type = {},
                          CaseDevice device = CaseDevice::kCpu);

  // exactness_scenario.h says what each draws.
  CaseResult run(uint64_t seed);
  CaseResult run(uint64_t seed, const Timed& timed);
  CaseResult run_recurrent(uint64_t seed);
  CaseResult run_windowed(uint64_t seed);
  CaseResult run_mixture(uint64_t seed);
  CaseResult run_mixture_ranks(uint64_t seed);
  CaseResult run_ranks(uint64_t seed);
  CaseResult run_latent(uint64_t seed);
  CaseResult run_eight(uint64_t seed);
  CaseResult run_in_flight(uint64_t seed);
  CaseResult run_forms(uint64_t seed);
  CaseResult run_forms_one_by_one(uint64_t seed);  // no step has more than one row of an answer
  // The answers of run_forms() again: each begins with random many of its tokens.
  CaseResult run_begun(uint64_t seed);
  CaseResult run_long(uint64_t seed);

 private:
  CaseResult run(Scenario scenario);

  CaseModels models_;
  std::optional<KvType> kv_type_;
  CaseDevice device_;
};

}  // namespace pando::testing
