#include "reference/reference_latent.h"

#include "reference/reference_attention.h"
#include "reference/reference_rows.h"

namespace pando::reference {
namespace {

using Floats = std::vector<float>;

// Columns [first, first + n) of x: [n_rows, n_columns].
Floats columns(const Floats& x, int n_rows, int first, int n) {
  const size_t n_columns = x.size() / n_rows;
  Floats part;
  for (int row = 0; row < n_rows; ++row) {
    const auto begin = x.begin() + static_cast<int64_t>(row * n_columns) + first;
    part.insert(part.end(), begin, begin + n);
  }
  return part;
}

// Writes x, [n_rows, n], to columns from `first` on of y, [n_rows, n_columns].
void put(const Floats& x, int n_rows, Floats& y, int first) {
  const size_t n = x.size() / n_rows, n_columns = y.size() / n_rows;
  for (size_t i = 0; i < x.size(); ++i) y[i / n * n_columns + first + i % n] = x[i];
}

}  // namespace

Floats attend_latents(const model::ModelConfig& c, const Options& options, const Latent& layer,
                      const Floats& h, int n) {
  const int rank = c.latent.rank, still = c.latent.still_dim, turning = c.latent.rope_dim;
  const int head_dim = rank + turning;
  Floats queries = layer.q.times(h, n);
  if (!layer.q_norm.empty())
    queries = layer.q_up.times(rms_norm_rows(queries, layer.q_norm, 1e-6f), n);
  const Floats keys = layer.kv.times(h, n);
  const model::RopeConfig& rope = c.rotations[0];
  const int context = options.context > 0 ? options.context : c.max_positions;
  const std::vector<double> turns = frequencies(rope, turning, context);
  const auto rotated = [&](Floats x) {
    rotate(x, n, turning, turns, rope.attention_factor);
    return x;
  };
  // All heads share one key, which is the value too.
  Floats k(size_t(n) * head_dim), q(size_t(n) * c.n_heads * head_dim);
  put(rms_norm_rows(columns(keys, n, 0, rank), layer.kv_norm, 1e-6f), n, k, 0);
  put(rotated(columns(keys, n, rank, turning)), n, k, rank);
  for (int head = 0; head < c.n_heads; ++head) {
    const int own = head * (still + turning);
    put(layer.key_up[head].times(columns(queries, n, own, still), n), n, q, head * head_dim);
    put(rotated(columns(queries, n, own + still, turning)), n, q, head * head_dim + rank);
  }
  const Floats attended = attend(c, c.heads(0), options, q, k, k, /*sinks=*/{}, n, /*window=*/0);
  Floats values(size_t(n) * c.n_heads * c.latent.value_dim);
  for (int head = 0; head < c.n_heads; ++head)
    put(layer.value_up[head].times(columns(attended, n, head * head_dim, rank), n), n, values,
        head * c.latent.value_dim);
  return values;
}

}  // namespace pando::reference
