// Weights of a file that a fuzz target made, read as a model's.
#pragma once

#include <cmath>

#include "base/numbers/blocks.h"
#include "exec/loaded_weights.h"
#include "fuzz/fuzz.h"

namespace pando::fuzz {

// Whatever is loaded is finite.
inline void load_weights(const std::filesystem::path& path) {
  static ThreadPool pool(1);
  const auto weights = testing::load_weights(path, std::nullopt, pool);
  if (!weights) return check_error(weights.error());
  const auto is_finite = [](float x) { return std::isfinite(x); };
  demand(std::ranges::all_of(weights->final_norm, is_finite), "a norm that is not finite");
  const model::Tensor& embedding = *weights->embedding;
  std::vector<float> rows(embedding.shape[0] * embedding.shape[1]);
  read_weights(embedding.type, embedding.in_place(), std::ssize(rows), rows.data());
  demand(std::ranges::all_of(rows, is_finite), "an embedding that is not finite");
}

}  // namespace pando::fuzz
