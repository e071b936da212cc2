// Mistral 7B, Mistral Small 3 and their like: Llama, which may have a sliding window in every
// layer.
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

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields, {}, config);
  read_window(fields, /*absent=*/4096, config);
}

// GGUF files without a window are read as Llama's: there is no other difference.
bool owns(const GgufFile& gguf) {
  return has_gguf_window(gguf, "llama") && !has_gguf_experts(gguf, "llama");
}

void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.window();
  gguf.attention_bias();
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  return usual_layer(config, layer, RowPairs::kGguf);
}

void set_window(ModelConfig& config, int window) {
  for (LayerConfig& layer : config.layers) layer.window = window;
}

ModelConfig mistral_7b() {
  ModelConfig config = shape_of(kMistral, {.vocab = 32000,
                                           .d_model = 4096,
                                           .n_layers = 32,
                                           .n_heads = 32,
                                           .n_kv_heads = 8,
                                           .d_ff = 14336});
  config.rms_eps = 1e-5f;
  config.max_positions = 32768;
  set_window(config, 4096);
  config.bos_id = 1;
  config.eos_ids = {2};
  return config;
}

ModelConfig tiny_mistral() {
  ModelConfig config =
      tiny_shape(kMistral, {.n_layers = 2, .head_dim = 16, .d_ff = 176, .tied = false});
  set_window(config, 40);
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"mistral-7b", mistral_7b()}, {"tiny-mistral", tiny_mistral()}};
}

}  // namespace

const Family kMistral = {.name = "mistral",
                         .architecture = "MistralForCausalLM",
                         .gguf_architecture = "llama",
                         .wrapper = "mistral3",
                         .read = read,
                         .write = write_window,
                         .owns = owns,
                         .translate = translate,
                         .layer_weights = layer_weights,
                         .shapes = shapes};

}  // namespace pando::model
