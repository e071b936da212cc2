// Seed-OSS: Llama with biases of queries, keys and values, and perhaps of the output projection.
#include "model/families/decoder_fields.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr const char *kBias = "attention_bias", *kOutBias = "attention_out_bias";

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields, {.head_dim = 128, .kv_heads_as_heads = true, .attention_bias = true},
               config);
  refuse_window(fields, config);
  config.qkv_bias = fields.boolean(kBias, true);
  config.o_bias = fields.boolean(kOutBias, false);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  object[kBias] = config.qkv_bias;
  object[kOutBias] = config.o_bias;
}

void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
  gguf.attention_bias();
  gguf.config()[kOutBias] = gguf.has_tensor(".attn_output.bias");
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  LayerSpecs specs(config, layer);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  specs.queries_keys_values();
  specs.output();
  specs.norm("post_attention_layernorm", "post_attention_norm", &LayerWeights::feed_forward_norm);
  specs.gate_and_up();
  specs.down();
  return specs.take();
}

ModelConfig seed_oss_36b() {
  ModelConfig config = shape_of(kSeedOss, {.vocab = 155136,
                                           .d_model = 5120,
                                           .n_layers = 64,
                                           .n_heads = 80,
                                           .n_kv_heads = 8,
                                           .d_ff = 27648});
  config.rms_eps = 1e-6f;
  config.rotations[0].theta = 1e7;
  config.max_positions = 524288;
  config.qkv_bias = true;
  config.bos_id = 0;
  config.eos_ids = {2};
  return config;
}

ModelConfig tiny_seed_oss() {
  ModelConfig config =
      tiny_shape(kSeedOss, {.n_layers = 2, .head_dim = 16, .d_ff = 160, .tied = false});
  config.qkv_bias = true;
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"seed-oss-36b", seed_oss_36b()}, {"tiny-seed-oss", tiny_seed_oss()}};
}

}  // namespace

const Family kSeedOss = {.name = "seed_oss",
                         .architecture = "SeedOssForCausalLM",
                         .gguf_architecture = "seed_oss",
                         .read = read,
                         .write = write,
                         .translate = translate,
                         .layer_weights = layer_weights,
                         .shapes = shapes};

}  // namespace pando::model
