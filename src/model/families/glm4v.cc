// The part of GLM-4.1V that reads texts: GLM-4 whose queries, keys and values always have biases.
// Its positions have three parts, which are equal for texts.
#include "base/errors.h"
#include "base/gguf.h"
#include "model/families/decoder_fields.h"
#include "model/families/glm4.h"
#include "model/families/list.h"
#include "model/families/sections.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"

namespace pando::model {
namespace {

constexpr std::string_view kOffers[] = {kSections};

void fix(ModelConfig& config) { config.qkv_bias = true; }

void read(Fields& fields, ModelConfig& config) {
  read_decoder(
      fields,
      {.rms_eps = 1e-5, .attention_bias = true, .rope = {.partial = true, .sections = true}},
      config);
  refuse_window(fields, config);
  config.o_bias = false;
  constexpr const char* kBias = "attention_bias";
  if (!fields.boolean(kBias, true)) fields.refuse(kBias, "true", ErrorCode::kUnsupported);
  if (config.q_dim() != config.d_model)
    fields.refuse("head_dim", "'hidden_size' / 'num_attention_heads'", ErrorCode::kUnsupported);
}

// GLM-4's own files have no parts of positions.
bool owns(const GgufFile& gguf) { return has_gguf_sections(gguf, "glm4"); }

void translate(GgufTranslator& gguf) {
  translate_glm4(gguf);
  gguf.config()["attention_bias"] = true;
}

// llama.cpp's converter lays the channels that turn together half a head apart.
std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  return glm4_layer(config, layer, RowPairs::kCheckpoint);
}

ModelConfig glm4_1v_9b() {
  ModelConfig config = shape_of(kGlm4v, {.vocab = 151552,
                                         .d_model = 4096,
                                         .n_layers = 40,
                                         .n_heads = 32,
                                         .n_kv_heads = 2,
                                         .d_ff = 13696});
  config.rotations[0].rotary_share = 0.5;
  config.max_positions = 65536;
  config.eos_ids = {151329, 151336, 151338, 151348};
  return config;
}

ModelConfig tiny_glm4v() {
  ModelConfig config =
      tiny_shape(kGlm4v, {.n_layers = 2, .head_dim = 16, .d_ff = 144, .tied = false});
  config.rotations[0].rotary_share = 0.5;
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"glm-4.1v-9b", glm4_1v_9b()}, {"tiny-glm4v", tiny_glm4v()}};
}

}  // namespace

const Family kGlm4v = {.name = "glm4v_text",
                       .architecture = "Glm4vForCausalLM",
                       .gguf_architecture = "glm4",
                       .wrapper = "glm4v",
                       .offers = kOffers,
                       .fix = fix,
                       .read = read,
                       .write = write_glm4,
                       .owns = owns,
                       .translate = translate,
                       .layer_weights = layer_weights,
                       .shapes = shapes};

}  // namespace pando::model
