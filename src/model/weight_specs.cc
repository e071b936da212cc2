#include "model/weight_specs.h"

#include <fmt/format.h>

#include <iterator>

namespace pando::model {

std::string layer_weight_name(int layer, std::string_view part) {
  return fmt::format("model.layers.{}.{}", layer, part);
}

std::vector<WeightSpec> weight_specs(const ModelConfig& c) {
  std::vector<WeightSpec> specs = {
      {"model.embed_tokens.weight", {c.vocab, c.d_model}, "token_embd.weight"}};
  for (int layer = 0; layer < c.n_layers(); ++layer) {
    std::vector<WeightSpec> own = c.family->layer_weights(c, layer);
    std::move(own.begin(), own.end(), std::back_inserter(specs));
  }
  specs.push_back({"model.norm.weight", {c.d_model}, "output_norm.weight"});
  if (!c.tied_embeddings)
    specs.push_back({"lm_head.weight", {c.vocab, c.d_model}, "output.weight"});
  return specs;
}

}  // namespace pando::model
