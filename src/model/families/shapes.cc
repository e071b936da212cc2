#include "model/families/shapes.h"

#include <string>
#include <vector>

#include "base/errors.h"
#include "base/json.h"
#include "base/nearest.h"
#include "model/config.h"
#include "model/make_model.h"

namespace pando::model {
namespace {

Result<ModelConfig> config_of(const ShapeRow& row) {
  const Sizes& sizes = row.sizes;
  Json fields = {{"model_type", row.family},
                 {"vocab_size", sizes.vocab},
                 {"hidden_size", sizes.d_model},
                 {"num_hidden_layers", sizes.n_layers},
                 {"num_attention_heads", sizes.n_heads},
                 {"num_key_value_heads", sizes.n_kv_heads},
                 {"intermediate_size", sizes.d_ff},
                 {"head_dim", sizes.head_dim},
                 {"max_position_embeddings", sizes.max_positions},
                 {"bos_token_id", 1},
                 {"eos_token_id", 2}};
  fields.update(Json::parse(fmt::format("{{{}}}", row.more)));
  return ModelConfig::from_json(fields, row.name);
}

}  // namespace

std::vector<std::string_view> shape_names() {
  std::vector<std::string_view> names;
  for (const ShapeRow& row : shape_rows()) names.push_back(row.name);
  return names;
}

Result<ModelConfig> named_shape(std::string_view name) {
  for (const ShapeRow& row : shape_rows())
    if (row.name == name) return config_of(row);
  return with_nearest(name, shape_names(),
                      invalid_option("shape", "is '{}', expected the name of a shape", name));
}

}  // namespace pando::model
