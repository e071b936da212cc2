// StableLM: LayerNorm with biases; a part of a head's channels rotates.
#include "base/errors.h"
#include "model/families/decoder_fields.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr double kShare = 0.25;
constexpr const char *kBias = "use_qkv_bias", *kEps = "layer_norm_eps";

void fix(ModelConfig& config) {
  config.norm = Norm::kLayer;
  config.norm_bias = true;
}

// Older files have other names for two fields.
void refuse_older_name(Fields& fields, const char* older, const char* name, double used) {
  const nlohmann::json* value = fields.find(older);
  if (value == nullptr) return;
  const auto number = static_cast<float>(used);
  if (!value->is_number() || value->get<float>() != number)
    fields.refuse(older,
                  fmt::format("{}, as '{}' (hint: rename '{}' to '{}')", number, name, older, name),
                  ErrorCode::kUnsupported);
}

void read(Fields& fields, ModelConfig& config) {
  read_decoder(
      fields,
      {.rms_eps = 1e-5, .rms_eps_name = kEps, .rope = {.partial = true, .rotary_share = kShare}},
      config);
  refuse_older_name(fields, "norm_eps", kEps, config.rms_eps);
  refuse_older_name(fields, "rope_pct", "partial_rotary_factor", config.rotations[0].rotary_share);
  refuse_window(fields, config);
  config.qkv_bias = fields.boolean(kBias, false);
  constexpr const char* kQkNorm = "qk_layernorm";
  if (fields.boolean(kQkNorm, false)) fields.refuse(kQkNorm, "false", ErrorCode::kUnsupported);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  object[kEps] = object["rms_norm_eps"];
  object.erase("rms_norm_eps");
  object[kBias] = config.qkv_bias;
  object["partial_rotary_factor"] = config.rotations[0].rotary_share;  // absent: a quarter
}

void translate(GgufTranslator& gguf) {
  gguf.decoder("attention.layer_norm_epsilon");
  gguf.no_window();
  gguf.same(kEps, "rms_norm_eps");
  gguf.config()[kBias] = gguf.has_tensor(".attn_q.bias");
  if (!gguf.config().contains("partial_rotary_factor"))
    gguf.config()["partial_rotary_factor"] = 1.0;
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  return usual_layer(config, layer);
}

ModelConfig stablelm_2() {
  ModelConfig config = shape_of(kStableLm, {.vocab = 100352,
                                            .d_model = 2048,
                                            .n_layers = 24,
                                            .n_heads = 32,
                                            .n_kv_heads = 32,
                                            .d_ff = 5632,
                                            .head_dim = 64});
  config.rotations[0].rotary_share = kShare;
  config.max_positions = 4096;
  config.qkv_bias = true;
  config.bos_id = 100257;
  config.eos_ids = {100257};
  return config;
}

ModelConfig tiny_stablelm() {
  ModelConfig config =
      tiny_shape(kStableLm, {.n_layers = 2, .head_dim = 16, .d_ff = 152, .tied = false});
  config.rotations[0].rotary_share = kShare;
  config.qkv_bias = true;
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"stablelm-2-1.6b", stablelm_2()}, {"tiny-stablelm", tiny_stablelm()}};
}

}  // namespace

const Family kStableLm = {.name = "stablelm",
                          .architecture = "StableLmForCausalLM",
                          .gguf_architecture = "stablelm",
                          .older_architecture = "StableLMEpochForCausalLM",
                          .fix = fix,
                          .read = read,
                          .write = write,
                          .translate = translate,
                          .layer_weights = layer_weights,
                          .shapes = shapes};

}  // namespace pando::model
