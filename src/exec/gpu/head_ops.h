// Queries, keys and values of attention, as exec/scalar/heads.cc has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "contract/model_spec.h"
#include "exec/gpu/host.h"
#include "exec/gpu/rows.h"
#include "exec/gpu/values.h"

namespace pando::exec::gpu {

// Rotation factors of every position.
struct Rotation {
  Buffer cos, sin;  // [context, half] f32
  int half = 0;     // pairs of channels that turn
};

// The rotations of a model's layers.
class Rotations {
 public:
  // context: positions of the longest sequence.
  Rotations(Host& host, const model::ModelSpec& spec, int context);
  const Rotation& of_layer(int layer) const { return tables_[of_layer_[layer]]; }

 private:
  std::vector<Rotation> tables_;  // one for each rotation and size of heads
  std::vector<size_t> of_layer_;  // [n_layers], index into tables_
};

// Factors of the queries at these positions; empty if the rotation has none.
std::vector<float> query_growth(const model::RopeConfig& rotation,
                                std::span<const uint32_t> positions);

// The widest head that kernels take.
inline constexpr int kWidestHead = 512;

struct HeadCall {
  const model::ModelSpec& spec;
  int layer;
  const Rotation& rotation;
  const Buffer& positions;  // [n_rows] u32
  const Buffer& growth;     // [n_rows] f32, factors of queries; or empty
};

// Columns [first, first + n) of rows.
struct Columns {
  const Rows* rows = nullptr;
  size_t first = 0, n = 0;

  bool empty() const { return n == 0; }
};

// [heads.n_kv, head_dim] each; empty if the layer reads those of another.
struct KeysAndValues {
  Columns keys, values;
};

// Adds the bias, then norms and turns heads. all: products with the layer's weights of queries, of
// gates if the model has them, of keys and of values; they stay where they are. The values of a
// layer whose values are its keys go to `spare`. qkv_bias: as wide as `all`, or empty; norms: empty
// if the model has none.
KeysAndValues project(Host& host, const HeadCall& call, const Values& qkv_bias,
                      const Values& q_norm, const Values& k_norm, Rows& all, Rows& spare);

// Multiplies attended values by the sigmoids of the gates, if the model has gates.
void gate_heads(Host& host, const model::ModelSpec& spec, const Rows& all, Rows& attended);

}  // namespace pando::exec::gpu
