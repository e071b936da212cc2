// Qwen2 and Qwen2.5: biases of queries, keys and values; some layers may have a sliding window.
#include "model/families/decoder_fields.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

void fix(ModelConfig& config) { config.qkv_bias = true; }

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields, {}, config);
  read_layer_windows(fields, /*absent=*/4096, config);
}

// A GGUF file does not say which layers have a window.
void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  return usual_layer(config, layer);
}

ModelConfig qwen2_7b() {
  ModelConfig config = shape_of(kQwen2, {.vocab = 152064,
                                         .d_model = 3584,
                                         .n_layers = 28,
                                         .n_heads = 28,
                                         .n_kv_heads = 4,
                                         .d_ff = 18944});
  config.rms_eps = 1e-6f;
  config.rotations[0].theta = 1e6;
  config.max_positions = 131072;
  config.bos_id = 151643;
  config.eos_ids = {151643};
  return config;
}

// The first layer sees all.
ModelConfig tiny_qwen2() {
  ModelConfig config =
      tiny_shape(kQwen2, {.n_layers = 3, .head_dim = 16, .d_ff = 160, .tied = true});
  config.layers[1].window = config.layers[2].window = 24;
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"qwen2.5-7b", qwen2_7b()}, {"tiny-qwen2", tiny_qwen2()}};
}

}  // namespace

const Family kQwen2 = {.name = "qwen2",
                       .architecture = "Qwen2ForCausalLM",
                       .gguf_architecture = "qwen2",
                       .fix = fix,
                       .read = read,
                       .write = write_layer_windows,
                       .translate = translate,
                       .layer_weights = layer_weights,
                       .shapes = shapes};

}  // namespace pando::model
