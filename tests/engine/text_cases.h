// Random cases of texts whose rows see both ways, against the reference.
#pragma once

#include <cstdint>
#include <string>

#include "engine/exactness_models.h"

namespace pando::testing {

constexpr int kTextCases = 60;  // of each family

struct TextCase {
  std::string what;  // the first difference; empty: none
  int n_texts = 0;   // that were compared
  int n_joined = 0;  // requests whose text was open when they came
  int n_cancelled = 0;
  bool on_ranks = false;
};

// family: a fixture of tests/model/encoders; empty: any. Sizes of pages, tiles and spans, threads,
// instruction set, types of weights, rows of a step, memory, ranks, order of arrival,
// cancellations, equal texts and poolings follow from the seed.
// The device "scalar" has neither instruction sets nor ranks that divide outputs.
TextCase run_text_case(const std::string& family, uint64_t seed,
                       CaseDevice device = CaseDevice::kCpu);

}  // namespace pando::testing
