// Weights of a file that a fuzz target made, read as a model's.
#pragma once

#include <cmath>

#include "fuzz/fuzz.h"
#include "kernel/blocks.h"
#include "model/weights.h"

namespace pando::fuzz {

// Whatever is loaded is finite.
inline void load_weights(const std::filesystem::path& path) {
  static ThreadPool pool(1);
  const auto weights = model::Weights::load(path, std::nullopt, kernel::best_kernels(), pool);
  if (!weights) return check_error(weights.error());
  const auto is_finite = [](float x) { return std::isfinite(x); };
  demand(std::ranges::all_of(weights->final_norm, is_finite), "a norm that is not finite");
  const model::TensorView& embedding = weights->embedding;
  std::vector<float> rows(embedding.shape[0] * embedding.shape[1]);
  kernel::read_weights(kernel::best_kernels(), embedding.dtype, embedding.data, std::ssize(rows),
                       rows.data());
  demand(std::ranges::all_of(rows, is_finite), "an embedding that is not finite");
}

}  // namespace pando::fuzz
