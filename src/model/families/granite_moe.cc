// Granite 3 with a mixture of experts in every layer, beside which there may be a shared expert.
#include "base/gguf.h"
#include "model/families/decoder_fields.h"
#include "model/families/granite_experts.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {

void fix_granite_experts(ModelConfig& config) {
  config.experts.scores = RouterScores::kSoftmaxOfChosen;
}

void add_granite_feed_forward(LayerSpecs& specs, const ModelConfig& config, int layer) {
  const bool is_mixture = config.layers[layer].feed_forward == FeedForward::kExperts;
  if (is_mixture) {
    specs.router("block_sparse_moe.router.layer");
    specs.experts({.gate_up = "block_sparse_moe.input_linear.weight",
                   .down = "block_sparse_moe.output_linear.weight",
                   .module = nullptr});
  }
  const int d_ff = is_mixture ? config.experts.shared_d_ff : config.d_ff;
  if (d_ff == 0) return;
  specs.gate_up("shared_mlp.input_linear.weight");
  specs.add("shared_mlp.output_linear.weight",
            is_mixture ? "ffn_down_shexp.weight" : "ffn_down.weight", {config.d_model, d_ff},
            &LayerWeights::down);
}

namespace {

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields, {.kv_heads_as_heads = true, .attention_bias = true}, config);
  refuse_window(fields, config);
  read_multipliers(fields, config);
  read_experts(fields, kGraniteExperts, config);
}

void read_shared(Fields& fields, ModelConfig& config) {
  read(fields, config);
  read_shared_expert(fields, kGraniteSharedWidth, /*absent=*/0, config);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  write_multipliers(config, object);
  write_experts(config, kGraniteExperts, object);
}

void write_shared(const ModelConfig& config, nlohmann::ordered_json& object) {
  write(config, object);
  object[kGraniteSharedWidth] = config.experts.shared_d_ff;
}

// Files of both families have the same architecture.
bool has_shared(const GgufFile& gguf) {
  const auto width = gguf.integer("granitemoe.expert_shared_feed_forward_length");
  return width.ok() && width->value_or(0) != 0;
}
bool has_no_shared(const GgufFile& gguf) { return !has_shared(gguf); }

void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
  gguf.attention_bias();
  translate_multipliers(gguf);
  translate_experts(gguf, kGraniteExperts.d_ff_name);
}

void translate_shared(GgufTranslator& gguf) {
  translate(gguf);
  translate_shared_expert(gguf, kGraniteSharedWidth);
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  LayerSpecs specs(config, layer, RowPairs::kGguf);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  specs.queries_keys_values();
  specs.output();
  specs.norm("post_attention_layernorm", "ffn_norm", &LayerWeights::feed_forward_norm);
  add_granite_feed_forward(specs, config, layer);
  return specs.take();
}

// granite-3.1-1b-a400m
ModelConfig granite_1b() {
  ModelConfig config = shape_of(kGraniteMoe, {.vocab = 49155,
                                              .d_model = 1024,
                                              .n_layers = 24,
                                              .n_heads = 16,
                                              .n_kv_heads = 8,
                                              .d_ff = 512,
                                              .head_dim = 64});
  set_experts(config, 32, 8, 512);
  config.rms_eps = 1e-6f;
  config.rotations[0].theta = 1.5e6;
  config.max_positions = 131072;
  config.tied_embeddings = true;
  config.bos_id = 0;
  config.eos_ids = {0};
  config.embedding_scale = 12.0f;
  config.residual_scale = 0.22f;
  config.attention_scale = 0.015625f;
  config.logit_divisor = 6.0f;
  return config;
}

ModelConfig tiny(const Family& family) {
  ModelConfig config =
      tiny_shape(family, {.n_layers = 2, .head_dim = 16, .d_ff = 44, .tied = false});
  set_experts(config, 6, 3, 44);
  config.embedding_scale = 3.0f;
  config.residual_scale = 0.7f;
  config.attention_scale = 0.125f;
  config.logit_divisor = 2.0f;
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"granite-3.1-1b-a400m", granite_1b()}, {"tiny-granite-moe", tiny(kGraniteMoe)}};
}

std::vector<NamedShape> shared_shapes() {
  ModelConfig config = tiny(kGraniteMoeShared);
  config.experts.shared_d_ff = 72;
  return {{"tiny-granite-moe-shared", config}};
}

}  // namespace

const Family kGraniteMoe = {.name = "granitemoe",
                            .architecture = "GraniteMoeForCausalLM",
                            .gguf_architecture = "granitemoe",
                            .offers = kGraniteExpertOffers,
                            .fix = fix_granite_experts,
                            .read = read,
                            .write = write,
                            .owns = has_no_shared,
                            .translate = translate,
                            .layer_weights = layer_weights,
                            .shapes = shapes};

const Family kGraniteMoeShared = {.name = "granitemoeshared",
                                  .architecture = "GraniteMoeSharedForCausalLM",
                                  .gguf_architecture = "granitemoe",
                                  .offers = kGraniteExpertOffers,
                                  .fix = fix_granite_experts,
                                  .read = read_shared,
                                  .write = write_shared,
                                  .owns = has_shared,
                                  .translate = translate_shared,
                                  .layer_weights = layer_weights,
                                  .shapes = shared_shapes};

}  // namespace pando::model
