// Qwen3, dense: RMSNorm of each query and key; some layers may have a sliding window.
#include "model/families/decoder_fields.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

void fix(ModelConfig& config) { config.qk_norm = QkNorm::kPerHead; }

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields, {.head_dim = 128, .attention_bias = true}, config);
  read_layer_windows(fields, /*absent=*/4096, config);
}

// A GGUF file does not say which layers have a window.
void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
  gguf.attention_bias();
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  return usual_layer(config, layer);
}

ModelConfig qwen3(int d_model, int n_layers, int n_heads, int d_ff, bool tied) {
  ModelConfig config = shape_of(kQwen3, {.vocab = 151936,
                                         .d_model = d_model,
                                         .n_layers = n_layers,
                                         .n_heads = n_heads,
                                         .n_kv_heads = 8,
                                         .d_ff = d_ff});
  config.rms_eps = 1e-6f;
  config.rotations[0].theta = 1e6;
  config.max_positions = 40960;
  config.tied_embeddings = tied;
  config.bos_id = 151643;
  config.eos_ids = {151645, 151643};
  return config;
}

std::vector<NamedShape> shapes() {
  return {
      {"qwen3-0.6b", qwen3(1024, 28, 16, 3072, true)},
      {"qwen3-1.7b", qwen3(2048, 28, 16, 6144, true)},
      {"qwen3-4b", qwen3(2560, 36, 32, 9728, true)},
      {"qwen3-8b", qwen3(4096, 36, 32, 12288, false)},
      {"tiny-qwen3",
       tiny_shape(kQwen3, {.n_layers = 2, .head_dim = 32, .d_ff = 192, .tied = true})},
  };
}

}  // namespace

const Family kQwen3 = {.name = "qwen3",
                       .architecture = "Qwen3ForCausalLM",
                       .gguf_architecture = "qwen3",
                       .fix = fix,
                       .read = read,
                       .write = write_layer_windows,
                       .translate = translate,
                       .layer_weights = layer_weights,
                       .shapes = shapes};

}  // namespace pando::model
