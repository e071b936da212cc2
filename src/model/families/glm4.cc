// GLM-4: norms before and after attention and feed-forward; half of a head's channels rotate, and
// those that turn together are neighbours; biases of queries, keys and values.
#include "model/families/glm4.h"

#include "model/families/decoder_fields.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr double kShare = 0.5;

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields,
               {.head_dim = 128,
                .rms_eps = 1.5625e-7,
                .attention_bias = true,
                .rope = {.partial = true, .rotary_share = kShare}},
               config);
  refuse_window(fields, config);
  config.qkv_bias = fields.boolean("attention_bias", true);
  config.o_bias = false;
}

}  // namespace

void write_glm4(const ModelConfig& config, nlohmann::ordered_json& object) {
  object["attention_bias"] = config.qkv_bias;
  object["partial_rotary_factor"] = config.rotations[0].rotary_share;  // absent: a half
}

void translate_glm4(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
  gguf.attention_bias();
  if (!gguf.config().contains("partial_rotary_factor"))
    gguf.config()["partial_rotary_factor"] = 1.0;
}

std::vector<WeightSpec> glm4_layer(const ModelConfig& config, int layer, RowPairs pairs) {
  LayerSpecs specs(config, layer, pairs);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  specs.queries_keys_values();
  specs.output();
  specs.norm("post_self_attn_layernorm", "post_attention_norm", &LayerWeights::attention_sum_norm);
  specs.norm("post_attention_layernorm", "ffn_norm", &LayerWeights::feed_forward_norm);
  specs.fused_gate_up();
  specs.down();
  specs.norm("post_mlp_layernorm", "post_ffw_norm", &LayerWeights::feed_forward_sum_norm);
  return specs.take();
}

namespace {

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  return glm4_layer(config, layer, RowPairs::kAll);
}

ModelConfig glm4_9b() {
  ModelConfig config = shape_of(kGlm4, {.vocab = 151552,
                                        .d_model = 4096,
                                        .n_layers = 40,
                                        .n_heads = 32,
                                        .n_kv_heads = 2,
                                        .d_ff = 13696});
  config.rotations[0].rotary_share = kShare;
  config.max_positions = 32768;
  config.qkv_bias = true;
  config.eos_ids = {151329, 151336, 151338};
  return config;
}

ModelConfig tiny_glm4() {
  ModelConfig config =
      tiny_shape(kGlm4, {.n_layers = 2, .head_dim = 24, .d_ff = 144, .tied = false});
  config.rotations[0].rotary_share = kShare;
  config.qkv_bias = true;
  return config;
}

std::vector<NamedShape> shapes() { return {{"glm-4-9b", glm4_9b()}, {"tiny-glm4", tiny_glm4()}}; }

}  // namespace

const Family kGlm4 = {.name = "glm4",
                      .architecture = "Glm4ForCausalLM",
                      .gguf_architecture = "glm4",
                      .read = read,
                      .write = write_glm4,
                      .translate = translate_glm4,
                      .layer_weights = layer_weights,
                      .shapes = shapes};

}  // namespace pando::model
