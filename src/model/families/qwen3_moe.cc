// Qwen3 with mixtures of experts: RMSNorm of each query and key; no layer has a window.
#include "base/errors.h"
#include "model/families/decoder_fields.h"
#include "model/families/experts.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr ExpertFields kExperts = {.n_experts = 128, .n_used = 8};
constexpr const char* kRenormalised = "norm_topk_prob";

void fix(ModelConfig& config) { config.qk_norm = QkNorm::kPerHead; }

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields, {.attention_bias = true}, config);
  read_experts(fields, kExperts, config);
  read_dense_layers(fields, config);
  config.experts.renormalised = fields.boolean(kRenormalised, false);
  constexpr const char* kWindow = "use_sliding_window";
  if (fields.boolean(kWindow, false)) fields.refuse(kWindow, "false", ErrorCode::kUnsupported);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  write_experts(config, kExperts, object);
  write_dense_layers(config, object);
  object[kRenormalised] = config.experts.renormalised;
}

// A GGUF file has experts in every layer, and readers renormalise.
void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
  gguf.attention_bias();
  translate_experts(gguf);
  gguf.config()[kRenormalised] = true;
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  return usual_layer(config, layer);
}

ModelConfig qwen3_30b() {
  ModelConfig config = shape_of(kQwen3Moe, {.vocab = 151936,
                                            .d_model = 2048,
                                            .n_layers = 48,
                                            .n_heads = 32,
                                            .n_kv_heads = 4,
                                            .d_ff = 6144});
  config.rms_eps = 1e-6f;
  config.rotations[0].theta = 1e6;
  config.max_positions = 40960;
  config.bos_id = 151643;
  config.eos_ids = {151645, 151643};
  set_experts(config, 128, 8, 768);
  config.experts.renormalised = true;
  return config;
}

// Experts are no whole number of lanes wide.
ModelConfig tiny_qwen3_moe() {
  ModelConfig config =
      tiny_shape(kQwen3Moe, {.n_layers = 2, .head_dim = 16, .d_ff = 136, .tied = false});
  set_experts(config, 8, 3, 40);
  config.experts.renormalised = true;
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"qwen3-30b-a3b", qwen3_30b()}, {"tiny-qwen3-moe", tiny_qwen3_moe()}};
}

}  // namespace

const Family kQwen3Moe = {.name = "qwen3_moe",
                          .architecture = "Qwen3MoeForCausalLM",
                          .gguf_architecture = "qwen3moe",
                          .offers = kExpertOffers,
                          .fix = fix,
                          .read = read,
                          .write = write,
                          .translate = translate,
                          .layer_weights = layer_weights,
                          .shapes = shapes};

}  // namespace pando::model
