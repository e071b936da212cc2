// The rows of families, grouped by kin.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "model/family.h"

namespace pando::model {

std::vector<Family> dense_families();
std::vector<Family> mixture_families();
std::vector<Family> hybrid_families();  // with states, or with parts that no other family has
std::vector<Family> encoder_families();

inline std::vector<Family> joined(std::initializer_list<std::vector<Family>> groups) {
  std::vector<Family> all;
  for (const std::vector<Family>& group : groups) all.insert(all.end(), group.begin(), group.end());
  return all;
}

// Granite's multipliers of embeddings, of the sums of layers, and of products of queries and keys;
// and the divisor of logits.
inline std::vector<NumberField> multipliers() {
  return {{"embedding_multiplier", "embedding_scale", &ModelSpec::embedding_scale, 1.0},
          {"residual_multiplier", "residual_scale", &ModelSpec::residual_scale, 1.0},
          {"attention_multiplier", "attention.scale", &ModelSpec::attention_scale, 1.0},
          {"logits_scaling", "logit_scale", &ModelSpec::logit_divisor, 1.0}};
}
// Experts that files call num_local_experts, as wide as `intermediate_size`.
inline ExpertFields local_experts(int n, int n_used, bool required = false) {
  return {.n_experts = n,
          .n_used = n_used,
          .d_ff_name = "intermediate_size",
          .count_name = "num_local_experts",
          .required = required};
}

}  // namespace pando::model
