// Shapes of models that can be made with random weights.
#pragma once

#include <string_view>

#include "model/config.h"

namespace pando::model {

struct NamedShape {
  std::string_view name;
  ModelConfig config;
};

// What every model has. The rest is set where a shape is named.
struct Sizes {
  int vocab, d_model, n_layers, n_heads, n_kv_heads, d_ff;
  int head_dim = 128;
};
ModelConfig shape_of(const Family& family, const Sizes& sizes);

// For tests and demonstrations: 64 wide, 4 query heads, 2 of keys and values, 1,024 tokens.
struct TinySizes {
  int n_layers, head_dim, d_ff;
  bool tied;
};
ModelConfig tiny_shape(const Family& family, const TinySizes& sizes);

}  // namespace pando::model
