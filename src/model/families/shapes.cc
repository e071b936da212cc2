#include "model/families/shapes.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/json.h"
#include "base/nearest.h"
#include "base/option_names.h"
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

// "2.4B"
std::string parameters_text(int64_t n_parameters) {
  const auto n = static_cast<double>(n_parameters);
  return n < 1e6   ? fmt::format("{:.0f}K", 1e-3 * n)
         : n < 1e9 ? fmt::format("{:.0f}M", 1e-6 * n)
                   : fmt::format("{:.1f}B", 1e-9 * n);
}

// Names and sizes of the few shapes that are nearest to `name`; equally near ones by size, the
// smallest first. If none is near, two examples.
std::string known_shapes(std::string_view name) {
  constexpr size_t kFew = 5;
  std::vector<std::pair<int64_t, std::string_view>> by_size;
  for (const ShapeRow& row : shape_rows())
    if (const auto config = config_of(row)) by_size.emplace_back(config->n_parameters(), row.name);
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

std::vector<std::string_view> shape_names() {
  std::vector<std::string_view> names;
  for (const ShapeRow& row : shape_rows()) names.push_back(row.name);
  return names;
}

Result<ModelConfig> named_shape(std::string_view name) {
  for (const ShapeRow& row : shape_rows())
    if (row.name == name) return config_of(row);
  return invalid_argument(
      "{} is '{}', expected {} (hint: `pando make-model --help` lists all shapes)",
      OptionName{"shape"}, name, known_shapes(name));
}

}  // namespace pando::model
