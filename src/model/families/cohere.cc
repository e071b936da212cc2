// Cohere's Command R.
#include "model/families/cohere.h"

#include <fmt/format.h>

#include "base/errors.h"
#include "model/config_ranges.h"
#include "model/families/decoder_fields.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"

namespace pando::model {

void fix_cohere(ModelConfig& config) {
  config.norm = Norm::kLayer;
  config.parallel = true;
}

void read_cohere(Fields& fields, double theta, ModelConfig& config) {
  read_decoder(fields,
               {.kv_heads_as_heads = true,
                .rms_eps = 1e-5,
                .rms_eps_name = "layer_norm_eps",
                .tied = true,
                .attention_bias = true,
                .rope = {.theta = theta}},
               config);
  config.logit_scale = static_cast<float>(fields.real(kCohereScale, kScales, 0.0625));
}

void write_cohere(const ModelConfig& config, nlohmann::ordered_json& object) {
  object["layer_norm_eps"] = object["rms_norm_eps"];
  object.erase("rms_norm_eps");
  object[kCohereScale] = nlohmann::json::parse(fmt::format("{}", config.logit_scale));
}

void translate_cohere(GgufTranslator& gguf) {
  gguf.decoder("attention.layer_norm_epsilon");
  gguf.attention_bias();
  gguf.same("layer_norm_eps", "rms_norm_eps");
  if (!gguf.fields().copy_real(kCohereScale, kCohereScale, gguf.config()))
    gguf.fields().refuse(kCohereScale, "a float");
}

std::vector<WeightSpec> cohere_layer(const ModelConfig& config, int layer) {
  LayerSpecs specs(config, layer, RowPairs::kAll);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  specs.queries_keys_values();
  specs.query_key_norms();
  specs.output();
  specs.gate_and_up();
  specs.down();
  return specs.take();
}

namespace {

constexpr double kTheta = 5e5;
constexpr const char* kQkNorm = "use_qk_norm";

void read(Fields& fields, ModelConfig& config) {
  read_cohere(fields, kTheta, config);
  refuse_window(fields, config);
  if (fields.boolean(kQkNorm, false)) config.qk_norm = QkNorm::kLayerPerHead;
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  write_cohere(config, object);
  if (config.qk_norm != QkNorm::kNone) object[kQkNorm] = true;
}

void translate(GgufTranslator& gguf) {
  translate_cohere(gguf);
  gguf.no_window();
  gguf.config()[kQkNorm] = gguf.has_tensor(".attn_q_norm.weight");
}

ModelConfig command_r() {
  ModelConfig config = shape_of(kCohere, {.vocab = 256000,
                                          .d_model = 8192,
                                          .n_layers = 40,
                                          .n_heads = 64,
                                          .n_kv_heads = 64,
                                          .d_ff = 22528});
  config.rotations[0].theta = 8e6;
  config.max_positions = 131072;
  config.tied_embeddings = true;
  config.bos_id = 5;
  config.eos_ids = {255001};
  config.logit_scale = 0.0625f;
  return config;
}

ModelConfig command_r_plus() {
  ModelConfig config = shape_of(kCohere, {.vocab = 256000,
                                          .d_model = 12288,
                                          .n_layers = 64,
                                          .n_heads = 96,
                                          .n_kv_heads = 8,
                                          .d_ff = 33792});
  config.rotations[0].theta = 7.5e7;
  config.max_positions = 131072;
  config.tied_embeddings = true;
  config.bos_id = 5;
  config.eos_ids = {255001};
  config.logit_scale = 0.8333333f;
  config.qk_norm = QkNorm::kLayerPerHead;
  return config;
}

ModelConfig tiny_cohere() {
  ModelConfig config =
      tiny_shape(kCohere, {.n_layers = 2, .head_dim = 16, .d_ff = 152, .tied = true});
  config.logit_scale = 0.5f;
  return config;
}

std::vector<NamedShape> shapes() {
  ModelConfig tiny_plus = tiny_cohere();
  tiny_plus.qk_norm = QkNorm::kLayerPerHead;
  tiny_plus.tied_embeddings = false;
  return {{"command-r", command_r()},
          {"command-r-plus", command_r_plus()},
          {"tiny-cohere", tiny_cohere()},
          {"tiny-command-r-plus", tiny_plus}};
}

}  // namespace

const Family kCohere = {.name = "cohere",
                        .architecture = "CohereForCausalLM",
                        .gguf_architecture = "command-r",
                        .offers = kCohereOffers,
                        .fix = fix_cohere,
                        .read = read,
                        .write = write,
                        .translate = translate,
                        .layer_weights = cohere_layer,
                        .shapes = shapes};

}  // namespace pando::model
