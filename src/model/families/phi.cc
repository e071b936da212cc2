// Phi-1, Phi-1.5 and Phi-2: LayerNorm with biases; biases of all matrices and of the logits;
// attention and feed-forward side by side, with one norm; a part of a head's channels rotates; a
// feed-forward without a gate, with GELU.
#include "base/errors.h"
#include "model/families/decoder_fields.h"
#include "model/families/gelu.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr double kShare = 0.5;
constexpr const char *kEps = "layer_norm_eps", *kGelu = "gelu_new";

void fix(ModelConfig& config) {
  config.norm = Norm::kLayer;
  config.norm_bias = true;
  config.parallel = true;
  config.qkv_bias = config.o_bias = config.head_bias = config.feed_forward_bias = true;
  config.activation = Activation::kUngatedGeluTanh;
}

void read(Fields& fields, ModelConfig& config) {
  const std::string activation = read_gelu(fields, kGelu, config);
  read_decoder(fields,
               {.kv_heads_as_heads = true,
                .rms_eps = 1e-5,
                .rms_eps_name = kEps,
                .activation = activation.c_str(),
                .rope = {.partial = true, .rotary_share = kShare}},
               config);
  refuse_window(fields, config);
  constexpr const char* kQkNorm = "qk_layernorm";
  if (fields.boolean(kQkNorm, false)) fields.refuse(kQkNorm, "false", ErrorCode::kUnsupported);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  object[kEps] = object["rms_norm_eps"];
  for (const char* name : {"rms_norm_eps", "attention_bias"}) object.erase(name);
  object["partial_rotary_factor"] = config.rotations[0].rotary_share;  // absent: a half
  write_gelu(config, object);
}

void translate(GgufTranslator& gguf) {
  gguf.decoder("attention.layer_norm_epsilon");
  gguf.no_window();
  gguf.same(kEps, "rms_norm_eps");
  nlohmann::json& config = gguf.config();
  config["hidden_act"] = kGelu;
  if (!config.contains("partial_rotary_factor")) config["partial_rotary_factor"] = 1.0;
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  LayerSpecs specs(config, layer);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  specs.queries_keys_values();
  specs.output("self_attn.dense");
  specs.up_and_down("mlp.fc1", "mlp.fc2");
  return specs.take();
}

void last_norm(WeightSpec& spec) { spec.name = "model.final_layernorm.weight"; }

ModelConfig phi_2() {
  ModelConfig config = shape_of(kPhi, {.vocab = 51200,
                                       .d_model = 2560,
                                       .n_layers = 32,
                                       .n_heads = 32,
                                       .n_kv_heads = 32,
                                       .d_ff = 10240,
                                       .head_dim = 80});
  config.rotations[0].rotary_share = 0.4;
  config.max_positions = 2048;
  config.bos_id = 50256;
  config.eos_ids = {50256};
  return config;
}

ModelConfig tiny_phi() {
  ModelConfig config =
      tiny_shape(kPhi, {.n_layers = 2, .head_dim = 16, .d_ff = 152, .tied = false});
  config.rotations[0].rotary_share = 0.25;
  return config;
}

std::vector<NamedShape> shapes() { return {{"phi-2", phi_2()}, {"tiny-phi", tiny_phi()}}; }

}  // namespace

const Family kPhi = {.name = "phi",
                     .architecture = "PhiForCausalLM",
                     .gguf_architecture = "phi2",
                     .fix = fix,
                     .read = read,
                     .write = write,
                     .translate = translate,
                     .layer_weights = layer_weights,
                     .last_norm = last_norm,
                     .shapes = shapes};

}  // namespace pando::model
