#include "model/weight_specs.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace pando::model {

std::string layer_weight_name(int layer, std::string_view part) {
  return fmt::format("model.layers.{}.{}", layer, part);
}

int64_t WeightSpec::n_elements() const {
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  return n;
}

std::vector<int64_t> WeightSpec::checkpoint_shape() const {
  std::vector<int64_t> stored = stored_shape.empty() ? shape : stored_shape;
  if (transposed) std::swap(stored.back(), stored[stored.size() - 2]);
  return stored;
}

bool is_of_experts(const LayerPart& part) {
  return std::holds_alternative<std::vector<float> ExpertWeights::*>(part) ||
         std::holds_alternative<Stack ExpertWeights::*>(part) ||
         std::holds_alternative<kernel::PackedMatrix ExpertWeights::*>(part);
}

WeightSpec WeightSpec::of_expert(int index) const {
  WeightSpec one = *this;
  one.expert = index;
  one.n_stacked = static_cast<int>(shape[0]);
  one.shape.erase(one.shape.begin());
  return one;
}

std::vector<WeightSpec> checkpoint_tensors_of(const WeightSpec& spec) {
  std::vector<WeightSpec> tensors;
  for (const auto& [name, n_rows, shape] : spec.parts) {
    WeightSpec& tensor = tensors.emplace_back(spec);
    tensor.name = name;
    tensor.shape[0] = n_rows;
    tensor.parts.clear();
  }
  if (!tensors.empty()) return tensors;
  if (spec.expert_parts.empty()) return {spec};
  for (int expert = 0; expert < spec.shape[0]; ++expert)
    for (const auto& [name, n_rows, shape] : spec.expert_parts) {
      WeightSpec& tensor = tensors.emplace_back(spec.of_expert(expert));
      tensor.n_stacked = 0;
      tensor.name = fmt::format(fmt::runtime(name), expert);
      tensor.shape[0] = n_rows;
    }
  return tensors;
}

std::vector<WeightSpec> gguf_tensors_of(const WeightSpec& spec) {
  if (spec.gguf_parts.empty()) return {spec};
  std::vector<WeightSpec> parts;
  for (const auto& [name, n_rows, shape] : spec.gguf_parts) {
    WeightSpec& part = parts.emplace_back(spec);
    part.name = fmt::format("{}[{}]", spec.name, parts.size() - 1);
    part.shape[spec.row_axis()] = n_rows;
    if (!shape.empty()) part.shape[1] = shape.back();
    part.gguf_shape = shape;
    part.gguf_name = name;
    part.gguf_parts.clear();
  }
  return parts;
}

std::vector<WeightSpec> layer_input_specs(const ModelConfig& c) {
  if (c.layer_input_dim == 0) return {};
  const int64_t n = int64_t{c.n_layers()} * c.layer_input_dim;
  return {
      {"model.embed_tokens_per_layer.weight",
       {c.layer_input_vocab, n},
       "per_layer_token_embd.weight"},
      {"model.per_layer_model_projection.weight", {n, c.d_model}, "per_layer_model_proj.weight"},
      {"model.per_layer_projection_norm.weight",
       {c.layer_input_dim},
       "per_layer_proj_norm.weight"}};
}

std::vector<WeightSpec> last_norm_specs(const ModelConfig& c) {
  std::vector<WeightSpec> specs = {{"model.norm.weight", {c.d_model}, "output_norm.weight"}};
  if (c.family->last_norm != nullptr) c.family->last_norm(specs[0]);
  if (c.norm_bias) {
    const std::string& weight = specs[0].name;
    const std::string module = weight.substr(0, weight.rfind('.'));
    specs.push_back({module + ".bias", {c.d_model}, "output_norm.bias"});
  }
  return specs;
}

WeightSpec head_bias_spec(const ModelConfig& c) {
  return {"lm_head.bias", {c.vocab}, "output.bias"};
}

WeightSpec head_spec(const ModelConfig& c) {
  if (c.tied_embeddings) return {c.family->embedding, {c.vocab, c.d_model}, "token_embd.weight"};
  return {"lm_head.weight", {c.vocab, c.d_model}, "output.weight"};
}

std::vector<WeightSpec> weight_specs(const ModelConfig& c) {
  std::vector<WeightSpec> specs = {
      {c.family->embedding, {c.vocab, c.d_model}, "token_embd.weight"}};
  for (WeightSpec& spec : layer_input_specs(c)) specs.push_back(std::move(spec));
  for (int layer = 0; layer < c.n_layers(); ++layer) {
    std::vector<WeightSpec> own = c.family->layer_weights(c, layer);
    std::move(own.begin(), own.end(), std::back_inserter(specs));
  }
  for (WeightSpec& spec : last_norm_specs(c)) specs.push_back(std::move(spec));
  if (!c.tied_embeddings) specs.push_back(head_spec(c));
  if (c.head_bias) specs.push_back(head_bias_spec(c));
  return specs;
}

std::vector<WeightSpec> checkpoint_specs(const ModelConfig& c) {
  std::vector<WeightSpec> specs;
  for (const WeightSpec& spec : weight_specs(c))
    for (WeightSpec& tensor : checkpoint_tensors_of(spec)) specs.push_back(std::move(tensor));
  return specs;
}

}  // namespace pando::model
