#include "model/weight_specs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/family.h"

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
    for (WeightSpec& tensor : checkpoint_tensors_of(spec, expert))
      tensors.push_back(std::move(tensor));
  return tensors;
}

std::vector<WeightSpec> checkpoint_tensors_of(const WeightSpec& spec, int expert) {
  std::vector<WeightSpec> tensors;
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

std::vector<WeightSpec> end_specs(const ModelConfig& c) {
  const std::vector<int64_t> table = {c.vocab, c.d_model};
  std::vector<WeightSpec> specs;
  const auto add = [&](Role role, std::string name, std::string gguf_name,
                       std::vector<int64_t> shape) -> WeightSpec& {
    specs.push_back({.name = std::move(name),
                     .shape = std::move(shape),
                     .gguf_name = std::move(gguf_name),
                     .role = role});
    return specs.back();
  };
  add(Role::kEmbedding, c.family->embedding, "token_embd.weight", table);
  if (c.n_learned_positions > 0)
    add(Role::kPositionTable, "model.embeddings.position_embeddings.weight", "position_embd.weight",
        {c.n_learned_positions, c.d_model});
  if (c.n_token_types > 0)
    add(Role::kTypeTable, "model.embeddings.token_type_embeddings.weight", "token_types.weight",
        {c.n_token_types, c.d_model});
  const auto add_embedding_norm = [&](const char* kind) {
    WeightSpec& spec =
        add(Role::kEmbeddingNorm, fmt::format("{}.{}", c.family->embedding_norm, kind),
            fmt::format("token_embd_norm.{}", kind), {c.d_model});
    if (c.family->other_embedding_norm != nullptr)
      spec.parts = {{fmt::format("{}.{}", c.family->other_embedding_norm, kind), c.d_model}};
  };
  if (c.embedding_norm) add_embedding_norm("weight");
  if (c.embedding_norm && c.norm_bias) add_embedding_norm("bias");
  if (const int64_t n = int64_t{c.n_layers()} * c.layer_input_dim; n > 0) {
    add(Role::kLayerInputTable, "model.embed_tokens_per_layer.weight",
        "per_layer_token_embd.weight", {c.layer_input_vocab, n});
    add(Role::kLayerInputProjection, "model.per_layer_model_projection.weight",
        "per_layer_model_proj.weight", {n, c.d_model});
    add(Role::kLayerInputNorm, "model.per_layer_projection_norm.weight",
        "per_layer_proj_norm.weight", {c.layer_input_dim});
  }
  const std::string norm = c.family->last_norm, gguf_norm = c.family->gguf_last_norm;
  if (c.final_norm)
    add(Role::kFinalNorm, norm + ".weight", gguf_norm + ".weight", {c.d_model}).stored =
        c.family->layer.norms;
  if (c.final_norm && c.norm_bias)
    add(Role::kFinalNorm, norm + ".bias", gguf_norm + ".bias", {c.d_model});
  if (c.both_ways) return specs;
  if (c.tied_embeddings)
    add(Role::kHead, c.family->embedding, "token_embd.weight", table);
  else
    add(Role::kHead, "lm_head.weight", "output.weight", table);
  if (c.head_bias) add(Role::kHeadBias, "lm_head.bias", "output.bias", {c.vocab});
  return specs;
}

WeightSpec head_spec(const ModelConfig& c) {
  const std::vector<WeightSpec> specs = end_specs(c);
  return *std::ranges::find(specs, Role::kHead, &WeightSpec::role);
}

std::vector<WeightSpec> weight_specs(const ModelConfig& c) {
  std::vector<WeightSpec> specs, behind;
  for (WeightSpec& spec : end_specs(c)) {
    if (spec.role == Role::kHead && c.tied_embeddings) continue;
    (spec.role < Role::kFinalNorm ? specs : behind).push_back(std::move(spec));
  }
  for (int layer = 0; layer < c.n_layers(); ++layer)
    for (WeightSpec& spec : c.family->layer_weights(c, layer)) specs.push_back(std::move(spec));
  for (WeightSpec& spec : behind) specs.push_back(std::move(spec));
  return specs;
}

std::vector<WeightSpec> checkpoint_specs(const ModelConfig& c) {
  std::vector<WeightSpec> specs;
  for (const WeightSpec& spec : weight_specs(c))
    for (WeightSpec& tensor : checkpoint_tensors_of(spec)) specs.push_back(std::move(tensor));
  return specs;
}

}  // namespace pando::model
