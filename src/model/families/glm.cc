// GLM-4 of 2024: half of a head's channels rotate, and those that turn together are neighbours;
// biases of queries, keys and values.
#include "model/families/decoder_fields.h"
#include "model/families/layer_specs.h"
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

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  object["attention_bias"] = config.qkv_bias;
  object["partial_rotary_factor"] = config.rotations[0].rotary_share;  // absent: a half
}

void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
  gguf.attention_bias();
  if (!gguf.config().contains("partial_rotary_factor"))
    gguf.config()["partial_rotary_factor"] = 1.0;
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  LayerSpecs specs(config, layer, RowPairs::kAll);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  specs.queries_keys_values();
  specs.output();
  specs.norm("post_attention_layernorm", "ffn_norm", &LayerWeights::feed_forward_norm);
  specs.fused_gate_up();
  specs.down();
  return specs.take();
}

ModelConfig glm4_9b_chat() {
  ModelConfig config = shape_of(kGlm, {.vocab = 151552,
                                       .d_model = 4096,
                                       .n_layers = 40,
                                       .n_heads = 32,
                                       .n_kv_heads = 2,
                                       .d_ff = 13696});
  config.rotations[0].rotary_share = kShare;
  config.max_positions = 131072;
  config.qkv_bias = true;
  config.eos_ids = {151329, 151336, 151338};
  return config;
}

ModelConfig tiny_glm() {
  ModelConfig config =
      tiny_shape(kGlm, {.n_layers = 2, .head_dim = 24, .d_ff = 152, .tied = false});
  config.rotations[0].rotary_share = kShare;
  config.qkv_bias = true;
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"glm-4-9b-chat", glm4_9b_chat()}, {"tiny-glm", tiny_glm()}};
}

}  // namespace

const Family kGlm = {.name = "glm",
                     .architecture = "GlmForCausalLM",
                     .gguf_architecture = "chatglm",
                     .read = read,
                     .write = write,
                     .translate = translate,
                     .layer_weights = layer_weights,
                     .shapes = shapes};

}  // namespace pando::model
