#include "model/families/shapes.h"

#include <algorithm>

#include "base/errors.h"
#include "base/nearest.h"
#include "model/make_model.h"

namespace pando::model {
namespace {

// As published; tiny ones last.
const std::vector<NamedShape>& shapes() {
  static const std::vector<NamedShape> all = [] {
    std::vector<NamedShape> of_families;
    for (const bool tiny : {false, true})
      for (const Family* family : families())
        for (NamedShape& shape : family->shapes())
          if (shape.name.starts_with("tiny-") == tiny) of_families.push_back(std::move(shape));
    return of_families;
  }();
  return all;
}

}  // namespace

ModelConfig shape_of(const Family& family, const Sizes& sizes) {
  ModelConfig config = ModelConfig::of_family(family);
  config.vocab = sizes.vocab;
  config.d_model = sizes.d_model;
  config.layers.resize(sizes.n_layers);
  config.n_heads = sizes.n_heads;
  config.n_kv_heads = sizes.n_kv_heads;
  config.head_dim = sizes.head_dim;
  config.d_ff = sizes.d_ff;
  return config;
}

ModelConfig tiny_shape(const Family& family, const TinySizes& sizes) {
  ModelConfig config = shape_of(family, {.vocab = 1024,
                                         .d_model = 64,
                                         .n_layers = sizes.n_layers,
                                         .n_heads = 4,
                                         .n_kv_heads = 2,
                                         .d_ff = sizes.d_ff,
                                         .head_dim = sizes.head_dim});
  config.rms_eps = 1e-6f;
  config.max_positions = 4096;
  config.tied_embeddings = sizes.tied;
  config.bos_id = 1;
  config.eos_ids = {2};
  return config;
}

void set_experts(ModelConfig& config, int n_experts, int n_used, int d_ff) {
  config.experts.n_experts = n_experts;
  config.experts.n_used = n_used;
  config.experts.d_ff = d_ff;
  for (LayerConfig& layer : config.layers) layer.feed_forward = FeedForward::kExperts;
}

std::vector<std::string_view> shape_names() {
  std::vector<std::string_view> names;
  for (const NamedShape& shape : shapes()) names.push_back(shape.name);
  return names;
}

Result<ModelConfig> named_shape(std::string_view name) {
  for (const NamedShape& shape : shapes())
    if (shape.name == name) return shape.config;
  const std::vector<std::string_view> names = shape_names();  // too many for one message
  const auto tiny = std::ranges::find_if(
      names, [](std::string_view known) { return known.starts_with("tiny-"); });
  return invalid_argument("shape is '{}', expected a published one, or {}{}", name,
                          fmt::join(tiny, names.end(), ", "), nearest_hint(name, names));
}

}  // namespace pando::model
