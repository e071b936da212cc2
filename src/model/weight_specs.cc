#include "model/weight_specs.h"

#include <fmt/format.h>

#include <iterator>

namespace pando::model {

std::string layer_weight_name(int layer, std::string_view part) {
  return fmt::format("model.layers.{}.{}", layer, part);
}

int64_t WeightSpec::n_elements() const {
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  return n;
}

std::vector<WeightSpec> gguf_tensors_of(const WeightSpec& spec) {
  if (spec.gguf_parts.empty()) return {spec};
  std::vector<WeightSpec> parts;
  for (const auto& [name, n_rows] : spec.gguf_parts) {
    WeightSpec& part = parts.emplace_back(spec);
    part.name = fmt::format("{}[{}]", spec.name, parts.size() - 1);
    part.shape[0] = n_rows;
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

WeightSpec last_norm_spec(const ModelConfig& c) {
  WeightSpec spec = {"model.norm.weight", {c.d_model}, "output_norm.weight"};
  if (c.family->last_norm != nullptr) c.family->last_norm(spec);
  return spec;
}

WeightSpec head_spec(const ModelConfig& c) {
  if (c.tied_embeddings)
    return {"model.embed_tokens.weight", {c.vocab, c.d_model}, "token_embd.weight"};
  return {"lm_head.weight", {c.vocab, c.d_model}, "output.weight"};
}

std::vector<WeightSpec> weight_specs(const ModelConfig& c) {
  std::vector<WeightSpec> specs = {
      {"model.embed_tokens.weight", {c.vocab, c.d_model}, "token_embd.weight"}};
  for (WeightSpec& spec : layer_input_specs(c)) specs.push_back(std::move(spec));
  for (int layer = 0; layer < c.n_layers(); ++layer) {
    std::vector<WeightSpec> own = c.family->layer_weights(c, layer);
    std::move(own.begin(), own.end(), std::back_inserter(specs));
  }
  specs.push_back(last_norm_spec(c));
  if (!c.tied_embeddings) specs.push_back(head_spec(c));
  return specs;
}

}  // namespace pando::model
