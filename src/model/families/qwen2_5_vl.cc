// The part of Qwen2.5-VL that reads texts: Qwen2. Its positions have three parts, which are equal
// for texts. No layer has a window.
#include "base/errors.h"
#include "model/families/decoder_fields.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

// Of the parts of a position, as mrope_section.
constexpr std::string_view kOffers[] = {"rope.dimension_sections"};

void fix(ModelConfig& config) { config.qkv_bias = true; }

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields, {.kv_heads_as_heads = true, .rms_eps = 1e-5, .rope = {.sections = true}},
               config);
  constexpr const char* kWindow = "use_sliding_window";
  if (fields.boolean(kWindow, false)) fields.refuse(kWindow, "false", ErrorCode::kUnsupported);
}

void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  return usual_layer(config, layer);
}

ModelConfig qwen2_5_vl_3b() {
  ModelConfig config = shape_of(kQwen2_5Vl, {.vocab = 151936,
                                             .d_model = 2048,
                                             .n_layers = 36,
                                             .n_heads = 16,
                                             .n_kv_heads = 2,
                                             .d_ff = 11008});
  config.rms_eps = 1e-6f;
  config.rotations[0].theta = 1e6;
  config.max_positions = 128000;
  config.tied_embeddings = true;
  config.bos_id = 151643;
  config.eos_ids = {151645};
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"qwen2.5-vl-3b", qwen2_5_vl_3b()},
          {"tiny-qwen2.5-vl",
           tiny_shape(kQwen2_5Vl, {.n_layers = 2, .head_dim = 16, .d_ff = 168, .tied = false})}};
}

}  // namespace

const Family kQwen2_5Vl = {.name = "qwen2_5_vl_text",
                           .architecture = "Qwen2_5_VLForCausalLM",
                           .gguf_architecture = "qwen2vl",
                           .wrapper = "qwen2_5_vl",
                           .offers = kOffers,
                           .fix = fix,
                           .read = read,
                           .translate = translate,
                           .layer_weights = layer_weights,
                           .shapes = shapes};

}  // namespace pando::model
