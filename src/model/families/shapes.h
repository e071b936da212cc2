// Shapes of models that can be made with random weights.
#pragma once

#include <string_view>

#include "model/config.h"

namespace pando::model {

struct NamedShape {
  std::string_view name;
  ModelConfig config;
};

// Sizes that every model has. The rest of a configuration is set where its shape is named.
struct Sizes {
  int vocab, d_model, n_layers, n_heads, n_kv_heads, d_ff;
  int head_dim = 128;
};
ModelConfig shape_of(const Family& family, const Sizes& sizes);

// For tests and demonstrations: d_model 64, 4 query heads, 2 KV heads, a vocabulary of 1,024.
struct TinySizes {
  int n_layers, head_dim, d_ff;
  bool tied;
};
ModelConfig tiny_shape(const Family& family, const TinySizes& sizes);

// Makes every layer a mixture of experts.
void set_experts(ModelConfig& config, int n_experts, int n_used, int d_ff);

}  // namespace pando::model
