// Nemotron: LayerNorm with biases, whose weights are stored minus 1; a part of a head's channels
// rotates; a feed-forward without a gate, with the square of ReLU as its activation.
#include "model/families/decoder_fields.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr double kShare = 0.5;
constexpr const char *kActivation = "relu2", *kEps = "norm_eps";

void fix(ModelConfig& config) {
  config.activation = Activation::kSquaredRelu;
  config.norm = Norm::kLayer;
  config.norm_bias = true;
}

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields,
               {.kv_heads_as_heads = true,
                .rms_eps = 1e-5,
                .rms_eps_name = kEps,
                .activation = kActivation,
                .attention_bias = true,
                .rope = {.partial = true, .rotary_share = kShare}},
               config);
  refuse_window(fields, config);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  object["hidden_act"] = kActivation;
  object[kEps] = object["rms_norm_eps"];
  object.erase("rms_norm_eps");
  object["partial_rotary_factor"] = config.rotations[0].rotary_share;  // absent: a half
}

void translate(GgufTranslator& gguf) {
  gguf.decoder("attention.layer_norm_epsilon");
  gguf.no_window();
  gguf.attention_bias();
  gguf.same(kEps, "rms_norm_eps");
  nlohmann::json& config = gguf.config();
  config["hidden_act"] = kActivation;
  if (!config.contains("partial_rotary_factor")) config["partial_rotary_factor"] = 1.0;
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  std::vector<WeightSpec> specs = usual_layer(config, layer);
  for (WeightSpec& spec : specs)
    if (spec.name.ends_with("norm.weight")) spec.stored = Stored::kOneLess;
  return specs;
}

void last_norm(WeightSpec& spec) { spec.stored = Stored::kOneLess; }

ModelConfig minitron_4b() {
  ModelConfig config = shape_of(kNemotron, {.vocab = 256000,
                                            .d_model = 3072,
                                            .n_layers = 32,
                                            .n_heads = 24,
                                            .n_kv_heads = 8,
                                            .d_ff = 9216});
  config.rotations[0].rotary_share = kShare;
  config.max_positions = 4096;
  config.bos_id = 2;
  config.eos_ids = {3};
  return config;
}

ModelConfig tiny_nemotron() {
  ModelConfig config =
      tiny_shape(kNemotron, {.n_layers = 2, .head_dim = 16, .d_ff = 152, .tied = false});
  config.rotations[0].rotary_share = kShare;
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"minitron-4b", minitron_4b()}, {"tiny-nemotron", tiny_nemotron()}};
}

}  // namespace

const Family kNemotron = {.name = "nemotron",
                          .architecture = "NemotronForCausalLM",
                          .gguf_architecture = "nemotron",
                          .fix = fix,
                          .read = read,
                          .write = write,
                          .translate = translate,
                          .layer_weights = layer_weights,
                          .last_norm = last_norm,
                          .shapes = shapes};

}  // namespace pando::model
