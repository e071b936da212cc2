// Mixtral: Mistral with a mixture of experts in every layer.
#include "base/gguf.h"
#include "model/families/decoder_fields.h"
#include "model/families/experts.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr ExpertFields kExperts = {.n_experts = 8,
                                   .n_used = 2,
                                   .d_ff_name = "intermediate_size",
                                   .count_name = "num_local_experts"};

void fix(ModelConfig& config) { config.experts.renormalised = true; }

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields, {.rms_eps = 1e-5, .rope = {.theta = 1e6}}, config);
  read_window(fields, /*absent=*/0, config);
  read_experts(fields, kExperts, config);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  write_window(config, object);
  write_experts(config, kExperts, object);
}

// Files of Llama and Mistral have the same architecture.
bool owns(const GgufFile& gguf) { return has_gguf_experts(gguf, "llama"); }

void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.window();
  gguf.attention_bias();
  translate_experts(gguf, kExperts.d_ff_name);
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  LayerSpecs specs(config, layer, RowPairs::kGguf);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  specs.queries_keys_values();
  specs.output();
  specs.norm("post_attention_layernorm", "ffn_norm", &LayerWeights::feed_forward_norm);
  specs.router("block_sparse_moe.gate");
  specs.experts(kMixtralExperts);
  return specs.take();
}

ModelConfig mixtral_8x7b() {
  ModelConfig config = shape_of(kMixtral, {.vocab = 32000,
                                           .d_model = 4096,
                                           .n_layers = 32,
                                           .n_heads = 32,
                                           .n_kv_heads = 8,
                                           .d_ff = 14336});
  config.rms_eps = 1e-5f;
  config.rotations[0].theta = 1e6;
  config.max_positions = 32768;
  config.bos_id = 1;
  config.eos_ids = {2};
  set_experts(config, 8, 2, 14336);
  return config;
}

ModelConfig tiny_mixtral() {
  ModelConfig config =
      tiny_shape(kMixtral, {.n_layers = 2, .head_dim = 16, .d_ff = 56, .tied = false});
  set_experts(config, 5, 2, 56);
  for (LayerConfig& layer : config.layers) layer.window = 50;
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"mixtral-8x7b", mixtral_8x7b()}, {"tiny-mixtral", tiny_mixtral()}};
}

}  // namespace

const Family kMixtral = {.name = "mixtral",
                         .architecture = "MixtralForCausalLM",
                         .gguf_architecture = "llama",
                         .offers = kExpertOffers,
                         .fix = fix,
                         .read = read,
                         .write = write,
                         .owns = owns,
                         .translate = translate,
                         .layer_weights = layer_weights,
                         .shapes = shapes};

}  // namespace pando::model
