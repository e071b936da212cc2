// Prepacking's benchmarks have these in common.
#pragma once

#include "lab/experiment.h"

namespace pando::lab {

constexpr size_t kPrepackingBatch = 16;  // prompts, as in the paper

inline ModelSpec prepacking_spec(const Harness& harness) {
  return {.shape = "qwen3-0.6b", .n_layers = harness.choose(1, 1, 2), .vocab = 32000};
}

}  // namespace pando::lab
