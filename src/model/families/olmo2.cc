#include "model/families/olmo2.h"

#include "model/families/decoder_fields.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {

void fix_olmo2(ModelConfig& config) { config.qk_norm = QkNorm::kFullWidth; }

std::vector<WeightSpec> olmo2_layer(const ModelConfig& config, int layer) {
  LayerSpecs specs(config, layer);
  specs.queries_keys_values();
  specs.query_key_norms();
  specs.output();
  specs.norm("post_attention_layernorm", "post_attention_norm", &LayerWeights::attention_sum_norm);
  specs.gate_and_up();
  specs.down();
  specs.norm("post_feedforward_layernorm", "post_ffw_norm", &LayerWeights::feed_forward_sum_norm);
  return specs.take();
}

namespace {

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields, {.kv_heads_as_heads = true, .rms_eps = 1e-5, .attention_bias = true},
               config);
  refuse_window(fields, config);
}

// OLMo 3's files have the same architecture and windows.
bool owns(const GgufFile& gguf) { return !has_gguf_window(gguf, "olmo2"); }

void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
  gguf.attention_bias();
}

ModelConfig olmo2_7b() {
  ModelConfig config = shape_of(kOlmo2, {.vocab = 100352,
                                         .d_model = 4096,
                                         .n_layers = 32,
                                         .n_heads = 32,
                                         .n_kv_heads = 32,
                                         .d_ff = 11008});
  config.rms_eps = 1e-6f;
  config.rotations[0].theta = 5e5;
  config.max_positions = 4096;
  config.eos_ids = {100257};
  return config;
}

// Linearly stretched as well, which no published file is.
ModelConfig tiny_olmo2() {
  ModelConfig config =
      tiny_shape(kOlmo2, {.n_layers = 2, .head_dim = 16, .d_ff = 152, .tied = false});
  config.rotations[0].type = RopeType::kLinear;
  config.rotations[0].factor = 2;
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"olmo-2-7b", olmo2_7b()}, {"tiny-olmo2", tiny_olmo2()}};
}

}  // namespace

const Family kOlmo2 = {.name = "olmo2",
                       .architecture = "Olmo2ForCausalLM",
                       .gguf_architecture = "olmo2",
                       .fix = fix_olmo2,
                       .read = read,
                       .owns = owns,
                       .translate = translate,
                       .layer_weights = olmo2_layer,
                       .shapes = shapes};

}  // namespace pando::model
