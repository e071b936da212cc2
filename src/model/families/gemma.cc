#include "model/families/gemma.h"

#include <cmath>

#include "model/families/layer_specs.h"

namespace pando::model {

void read_gemma(Fields& fields, ModelConfig& config) {
  const int64_t scalar = fields.integer(kGemmaScalar, 1, kMaxWidth, 256);
  if (scalar != config.head_dim)
    config.attention_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(scalar)));
  scale_embeddings(config);
}

void scale_embeddings(ModelConfig& config) {
  config.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(config.d_model)));
}

void write_gemma(const ModelConfig& config, nlohmann::ordered_json& object) {
  object.erase("hidden_act");
  object["hidden_activation"] = kGemmaActivation;
  const double scale = config.attention_scale;
  object[kGemmaScalar] = scale == 0.0 ? config.head_dim : std::lround(1.0 / (scale * scale));
}

void translate_gemma(GgufTranslator& gguf, int largest) {
  if (!gguf.fields().status()) return;
  nlohmann::json& config = gguf.config();
  config.erase("hidden_act");
  const int64_t d_model = config["hidden_size"], n_heads = config["num_attention_heads"];
  config[kGemmaScalar] = config["head_dim"];
  if (config["num_hidden_layers"] == largest && n_heads > 0)
    config[kGemmaScalar] = d_model / n_heads;
}

std::vector<WeightSpec> gemma_layer(const ModelConfig& config, int layer) {
  LayerSpecs specs(config, layer);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  specs.queries_keys_values();
  specs.query_key_norms();
  specs.output();
  specs.norm("post_attention_layernorm", "post_attention_norm", &LayerWeights::attention_sum_norm);
  specs.norm("pre_feedforward_layernorm", "ffn_norm", &LayerWeights::feed_forward_norm);
  specs.gate_and_up();
  specs.down();
  specs.norm("post_feedforward_layernorm", "post_ffw_norm", &LayerWeights::feed_forward_sum_norm);
  for (WeightSpec& spec : specs.all())
    if (spec.name.ends_with("norm.weight")) spec.stored = Stored::kOneLess;
  return specs.take();
}

void last_gemma_norm(WeightSpec& spec) { spec.stored = Stored::kOneLess; }

}  // namespace pando::model
