// OLMoE: RMSNorm of all queries and of all keys, and a mixture of experts in every layer.
#include "model/families/decoder_fields.h"
#include "model/families/experts.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr ExpertFields kExperts = {.n_experts = 64, .n_used = 8, .d_ff_name = "intermediate_size"};
constexpr const char* kRenormalised = "norm_topk_prob";

void fix(ModelConfig& config) { config.qk_norm = QkNorm::kFullWidth; }

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields, {.kv_heads_as_heads = true, .rms_eps = 1e-5, .attention_bias = true},
               config);
  refuse_window(fields, config);
  read_experts(fields, kExperts, config);
  config.experts.renormalised = fields.boolean(kRenormalised, false);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  write_experts(config, kExperts, object);
  object[kRenormalised] = config.experts.renormalised;
}

// Readers do not renormalise.
void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
  gguf.attention_bias();
  translate_experts(gguf, kExperts.d_ff_name);
  gguf.config()[kRenormalised] = false;
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  return usual_layer(config, layer);
}

ModelConfig olmoe_7b() {
  ModelConfig config = shape_of(kOlmoe, {.vocab = 50304,
                                         .d_model = 2048,
                                         .n_layers = 16,
                                         .n_heads = 16,
                                         .n_kv_heads = 16,
                                         .d_ff = 1024});
  config.rms_eps = 1e-5f;
  config.max_positions = 4096;
  config.eos_ids = {50279};
  set_experts(config, 64, 8, 1024);
  return config;
}

ModelConfig tiny_olmoe() {
  ModelConfig config =
      tiny_shape(kOlmoe, {.n_layers = 2, .head_dim = 16, .d_ff = 24, .tied = false});
  set_experts(config, 9, 3, 24);
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"olmoe-1b-7b", olmoe_7b()}, {"tiny-olmoe", tiny_olmoe()}};
}

}  // namespace

const Family kOlmoe = {.name = "olmoe",
                       .architecture = "OlmoeForCausalLM",
                       .gguf_architecture = "olmoe",
                       .offers = kExpertOffers,
                       .fix = fix,
                       .read = read,
                       .write = write,
                       .translate = translate,
                       .layer_weights = layer_weights,
                       .shapes = shapes};

}  // namespace pando::model
