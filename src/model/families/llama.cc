// Llama 1 to 3.2.
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
  read_decoder(fields, {.kv_heads_as_heads = true, .attention_bias = true}, config);
  refuse_window(fields, config);
}

// Mistral's files have the same architecture, and may have a window; Mixtral's have experts.
bool owns(const GgufFile& gguf) {
  return !has_gguf_window(gguf, "llama") && !has_gguf_experts(gguf, "llama");
}

void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
  gguf.attention_bias();
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  return usual_layer(config, layer, RowPairs::kGguf);
}

ModelConfig llama2(const Sizes& sizes, double theta, int max_positions) {
  ModelConfig config = shape_of(kLlama, sizes);
  config.rms_eps = 1e-5f;
  config.rotations[0].theta = theta;
  config.max_positions = max_positions;
  config.bos_id = 1;
  config.eos_ids = {2};
  return config;
}

// Sizes of Llama 2 with as many heads of keys and values as of queries.
Sizes llama2_sizes(int vocab, int d_model, int n_layers, int n_heads, int d_ff) {
  return {.vocab = vocab,
          .d_model = d_model,
          .n_layers = n_layers,
          .n_heads = n_heads,
          .n_kv_heads = n_heads,
          .d_ff = d_ff};
}

ModelConfig llama3(int d_model, int n_layers, int head_dim, int d_ff, int max_positions,
                   bool tied) {
  ModelConfig config = shape_of(kLlama, {.vocab = 128256,
                                         .d_model = d_model,
                                         .n_layers = n_layers,
                                         .n_heads = 32,
                                         .n_kv_heads = 8,
                                         .d_ff = d_ff,
                                         .head_dim = head_dim});
  config.rms_eps = 1e-5f;
  config.rotations[0].theta = 5e5;
  config.max_positions = max_positions;
  config.tied_embeddings = tied;
  config.bos_id = 128000;
  config.eos_ids = {128001};
  return config;
}

ModelConfig llama3_2_1b() {
  ModelConfig config = llama3(2048, 16, 64, 8192, 131072, true);
  config.rotations[0].type = RopeType::kLlama3;
  config.rotations[0].factor = 32;
  config.rotations[0].original_positions = 8192;
  return config;
}

std::vector<NamedShape> shapes() {
  return {
      {"llama-2-7b", llama2(llama2_sizes(32000, 4096, 32, 32, 11008), 1e4, 4096)},
      {"llama-2-13b", llama2(llama2_sizes(32000, 5120, 40, 40, 13824), 1e4, 4096)},
      {"sheared-llama-1.3b", llama2(llama2_sizes(32000, 2048, 24, 16, 5504), 1e4, 4096)},
      {"llama-3-8b", llama3(4096, 32, 128, 14336, 8192, false)},
      {"llama-3.2-1b", llama3_2_1b()},
      {"codellama-13b", llama2(llama2_sizes(32016, 5120, 40, 40, 13824), 1e6, 16384)},
      {"tiny-llama",
       tiny_shape(kLlama, {.n_layers = 3, .head_dim = 16, .d_ff = 176, .tied = false})},
  };
}

}  // namespace

const Family kLlama = {.name = "llama",
                       .architecture = "LlamaForCausalLM",
                       .gguf_architecture = "llama",
                       .read = read,
                       .owns = owns,
                       .translate = translate,
                       .layer_weights = layer_weights,
                       .shapes = shapes};

}  // namespace pando::model
