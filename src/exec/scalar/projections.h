// The rows before and behind attention: queries, keys and values of normed rows, and what the
// output projection reads of attended rows.
#pragma once

#include <cstdint>
#include <span>

#include "base/thread_pool.h"
#include "contract/model_spec.h"
#include "exec/scalar/rotation.h"
#include "exec/scalar/rows.h"
#include "exec/scalar/weights.h"

namespace pando::exec::scalar {

struct Projections {
  Rows queries;       // [heads.n, head_dim], then gates, as many, if the model has them
  Rows keys, values;  // [heads.n_kv, head_dim]; no rows if the layer reads those of another
};

// Both kinds of attention read this of a layer.
struct ProjectedLayer {
  const model::ModelSpec& spec;  // of the stage
  int index;                     // in the stage
  const LayerWeights& weights;
  const Rotations& rotations;
  ThreadPool& pool;
};

// h: normed rows at these positions.
Projections project_heads(const ProjectedLayer& layer, const Rows& h,
                          std::span<const uint32_t> positions);
// Multiplies attended values by the sigmoids of the gates.
void gate_heads(const ProjectedLayer& layer, const Rows& queries, Rows& attended);

// Does the same for latent attention (docs/arithmetic.md, "Latent attention").
Projections project_latents(const ProjectedLayer& layer, const Rows& h,
                            std::span<const uint32_t> positions);
// [n_rows, n_heads * value_dim].
Rows values_of_latents(const ProjectedLayer& layer, const Rows& attended);

// Columns [first, first + n) of x.
Rows columns(const Rows& x, size_t first, size_t n);

}  // namespace pando::exec::scalar
