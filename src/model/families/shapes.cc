#include "model/families/shapes.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/nearest.h"
#include "base/option_names.h"
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

// "2.4B"
std::string parameters_text(int64_t n_parameters) {
  const auto n = static_cast<double>(n_parameters);
  return n < 1e6   ? fmt::format("{:.0f}K", 1e-3 * n)
         : n < 1e9 ? fmt::format("{:.0f}M", 1e-6 * n)
                   : fmt::format("{:.1f}B", 1e-9 * n);
}

// Names and sizes of the few shapes that are nearest to `name`; of equally near ones, the smallest
// first. If none is near, two examples.
std::string known_shapes(std::string_view name) {
  constexpr size_t kFew = 5;
  std::vector<std::pair<int64_t, std::string_view>> by_size;
  for (const NamedShape& shape : shapes())
    by_size.emplace_back(shape.config.n_parameters(), shape.name);
  std::ranges::sort(by_size);
  std::vector<std::string_view> names;
  for (const auto& [size, known] : by_size) names.push_back(known);
  std::vector<std::string_view> near = nearest_names(name, names);
  const bool is_near = !near.empty();
  if (!is_near) near = {"tiny-qwen3", "qwen3-0.6b"};
  near.resize(std::min(near.size(), kFew));
  std::vector<std::string> with_sizes;
  for (const std::string_view known : near) {
    const auto found = std::ranges::find(by_size, known, [](const auto& of) { return of.second; });
    with_sizes.push_back(fmt::format("{} ({})", known, parameters_text(found->first)));
  }
  const std::vector<std::string_view> texts(with_sizes.begin(), with_sizes.end());
  return fmt::format("{}{}", is_near ? "" : "the name of a shape such as ", one_of_these(texts));
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
  return invalid_argument(
      "{} is '{}', expected {} (hint: `pando make-model --help` lists all shapes)",
      OptionName{"shape"}, name, known_shapes(name));
}

}  // namespace pando::model
