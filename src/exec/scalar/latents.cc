// Queries and keys of attention over latents, and values of attended latents. Source: DeepSeek-V2,
// section 2.1, in its absorbed form.
#include <algorithm>

#include "exec/scalar/projections.h"

namespace pando::exec::scalar {

using model::LatentConfig;

Projections project_latents(const ProjectedLayer& layer, const Rows& h,
                            std::span<const uint32_t> positions) {
  const model::ModelSpec& spec = layer.spec;
  const LatentConfig& l = spec.latent;
  const size_t rank = l.rank, still = l.still_dim, turning = l.rope_dim, head_dim = rank + turning;
  const Rows first = multiply(layer.weights.stack(Role::kQkv), h, layer.pool);
  const size_t latents = first.width - head_dim;  // they begin here
  Rows queries = columns(first, 0, latents);
  if (l.query_rank > 0) {
    const float* const norm = layer.weights.values(Role::kQNorm).data();
    for (uint32_t row = 0; row < h.n; ++row)
      rms_norm(queries.row(row), norm, LatentConfig::kEps, l.query_rank, queries.row(row));
    queries = multiply(layer.weights.matrix(Role::kQUp), queries, layer.pool);
  }
  Projections out{Rows(h.n, spec.n_heads * head_dim), columns(first, latents, head_dim), {}};
  for (int head = 0; head < spec.n_heads; ++head) {
    const size_t own = head * (still + turning);
    const Rows absorbed =
        multiply(layer.weights.latent_keys[head], columns(queries, own, still), layer.pool);
    for (uint32_t row = 0; row < h.n; ++row) {
      float* const to = out.queries.row(row) + head * head_dim;
      std::copy_n(absorbed.row(row), rank, to);
      std::copy_n(queries.row(row) + own + still, turning, to + rank);
      layer.rotations.turn(layer.index, positions[row], to + rank);
    }
  }
  for (uint32_t row = 0; row < h.n; ++row) {
    float* const key = out.keys.row(row);
    const float* const norm = layer.weights.values(Role::kKNorm).data();
    rms_norm(key, norm, LatentConfig::kEps, l.rank, key);
    layer.rotations.turn(layer.index, positions[row], key + rank);
  }
  out.values = out.keys;
  return out;
}

Rows values_of_latents(const ProjectedLayer& layer, const Rows& attended) {
  const model::ModelSpec& spec = layer.spec;
  const size_t head_dim = spec.head_dim, n = spec.latent.value_dim;
  Rows values(attended.n, spec.n_heads * n);
  for (int head = 0; head < spec.n_heads; ++head) {
    const Rows latents = columns(attended, head * head_dim, spec.latent.rank);
    const Rows own = multiply(layer.weights.latent_values[head], latents, layer.pool);
    for (uint32_t row = 0; row < attended.n; ++row)
      std::copy_n(own.row(row), n, values.row(row) + head * n);
  }
  return values;
}

}  // namespace pando::exec::scalar
