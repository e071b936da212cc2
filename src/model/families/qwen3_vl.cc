// The part of Qwen3-VL that reads texts: Qwen3, dense. Its positions have three parts, which are
// equal for texts. No layer has a window.
#include "model/families/decoder_fields.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

// Of the parts of a position, as mrope_section.
constexpr std::string_view kOffers[] = {"rope.dimension_sections"};

void fix(ModelConfig& config) { config.qk_norm = QkNorm::kPerHead; }

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields,
               {.head_dim = 128,
                .kv_heads_as_heads = true,
                .attention_bias = true,
                .rope = {.sections = true}},
               config);
  refuse_window(fields, config);
}

void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
  gguf.attention_bias();
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  return usual_layer(config, layer);
}

ModelConfig qwen3_vl_4b() {
  ModelConfig config = shape_of(kQwen3Vl, {.vocab = 151936,
                                           .d_model = 2560,
                                           .n_layers = 36,
                                           .n_heads = 32,
                                           .n_kv_heads = 8,
                                           .d_ff = 9728});
  config.rms_eps = 1e-6f;
  config.rotations[0].theta = 5e6;
  config.max_positions = 262144;
  config.tied_embeddings = true;
  config.bos_id = 151643;
  config.eos_ids = {151645};
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"qwen3-vl-4b", qwen3_vl_4b()},
          {"tiny-qwen3-vl",
           tiny_shape(kQwen3Vl, {.n_layers = 2, .head_dim = 24, .d_ff = 184, .tied = true})}};
}

}  // namespace

const Family kQwen3Vl = {.name = "qwen3_vl_text",
                         .architecture = "Qwen3VLForCausalLM",
                         .gguf_architecture = "qwen3vl",
                         .wrapper = "qwen3_vl",
                         .offers = kOffers,
                         .fix = fix,
                         .read = read,
                         .translate = translate,
                         .layer_weights = layer_weights,
                         .shapes = shapes};

}  // namespace pando::model
