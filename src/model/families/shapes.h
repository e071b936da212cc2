// Shapes of models that can be made with random weights: rows of a table.
#pragma once

#include <span>
#include <string_view>

namespace pando::model {

// The sizes that every config.json has.
struct Sizes {
  int vocab, d_model, n_layers, n_heads, n_kv_heads, d_ff, head_dim, max_positions;
};

struct ShapeRow {
  std::string_view name;
  const char* family;
  Sizes sizes;
  // JSON without its braces: further fields of config.json. Special tokens are 1 and 2 where it has
  // none.
  const char* more = "";
};

std::span<const ShapeRow> shape_rows();

}  // namespace pando::model
