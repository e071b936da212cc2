// StarCoder2: LayerNorm with biases; biases of all matrices; a sliding window; a feed-forward
// without a gate, with GELU.
#include "model/families/decoder_fields.h"
#include "model/families/gelu.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr const char *kEps = "norm_epsilon", *kBias = "use_bias", *kGelu = "gelu_pytorch_tanh";

void fix(ModelConfig& config) {
  config.norm = Norm::kLayer;
  config.norm_bias = true;
  config.activation = Activation::kUngatedGeluTanh;
}

void set_biases(bool present, ModelConfig& config) {
  config.qkv_bias = config.o_bias = config.feed_forward_bias = present;
}

void read(Fields& fields, ModelConfig& config) {
  const std::string activation = read_gelu(fields, kGelu, config);
  read_decoder(
      fields,
      {.rms_eps = 1e-5, .rms_eps_name = kEps, .activation = activation.c_str(), .tied = true},
      config);
  read_window(fields, /*absent=*/0, config);
  set_biases(fields.boolean(kBias, true), config);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  object[kEps] = object["rms_norm_eps"];
  for (const char* name : {"rms_norm_eps", "attention_bias"}) object.erase(name);
  object[kBias] = config.qkv_bias;
  write_window(config, object);
  write_gelu(config, object);
}

void translate(GgufTranslator& gguf) {
  gguf.decoder("attention.layer_norm_epsilon");
  gguf.window();
  gguf.same(kEps, "rms_norm_eps");
  gguf.config()["hidden_act"] = kGelu;
  gguf.config()[kBias] = gguf.has_tensor(".ffn_up.bias");
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  LayerSpecs specs(config, layer);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  specs.queries_keys_values();
  specs.output();
  specs.norm("post_attention_layernorm", "ffn_norm", &LayerWeights::feed_forward_norm);
  specs.up_and_down("mlp.c_fc", "mlp.c_proj");
  return specs.take();
}

ModelConfig starcoder2_3b() {
  ModelConfig config = shape_of(kStarCoder2, {.vocab = 49152,
                                              .d_model = 3072,
                                              .n_layers = 30,
                                              .n_heads = 24,
                                              .n_kv_heads = 2,
                                              .d_ff = 12288});
  config.rotations[0].theta = 999999.4420358813;
  config.max_positions = 16384;
  for (LayerConfig& layer : config.layers) layer.window = 4096;
  config.tied_embeddings = true;
  set_biases(true, config);
  config.bos_id = 0;
  config.eos_ids = {0};
  return config;
}

ModelConfig tiny_starcoder2() {
  ModelConfig config =
      tiny_shape(kStarCoder2, {.n_layers = 2, .head_dim = 16, .d_ff = 152, .tied = false});
  set_biases(true, config);
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"starcoder2-3b", starcoder2_3b()}, {"tiny-starcoder2", tiny_starcoder2()}};
}

}  // namespace

const Family kStarCoder2 = {.name = "starcoder2",
                            .architecture = "Starcoder2ForCausalLM",
                            .gguf_architecture = "starcoder2",
                            .fix = fix,
                            .read = read,
                            .write = write,
                            .translate = translate,
                            .layer_weights = layer_weights,
                            .shapes = shapes};

}  // namespace pando::model
