// Phi-3.5-MoE: LayerNorm with biases, longrope, a bias of the logits, and in every layer a mixture
// of experts whose router weighs two experts one after the other.
#include "model/families/decoder_fields.h"
#include "model/families/experts.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr ExpertFields kExperts = {.n_experts = 16,
                                   .n_used = 2,
                                   .d_ff_name = "intermediate_size",
                                   .count_name = "num_local_experts"};
constexpr const char *kJitter = "router_jitter_noise", *kHeadBias = "lm_head_bias";

void fix(ModelConfig& config) {
  config.norm = Norm::kLayer;
  config.norm_bias = true;
  config.experts.scores = RouterScores::kSparseMixer;
}

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields,
               {.rms_eps = 1e-5, .attention_bias = true, .rope = {.mscales = true, .theta = 1e6}},
               config);
  read_window(fields, /*absent=*/0, config);
  read_experts(fields, kExperts, config);
  config.head_bias = fields.boolean(kHeadBias, false);
  const nlohmann::json* jitter = fields.find(kJitter);
  const bool is_zero = jitter != nullptr && *jitter == 0.0;
  config.experts.mixer_jitter = is_zero ? 0.0f : static_cast<float>(fields.positive(kJitter, 0.01));
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  write_window(config, object);
  write_experts(config, kExperts, object);
  object[kHeadBias] = config.head_bias;
  object[kJitter] = nlohmann::json::parse(fmt::format("{}", config.experts.mixer_jitter));
  const RopeConfig& rope = config.rotations[0];
  if (rope.type != RopeType::kLongRope) return;
  for (const char* name : {"short_mscale", "long_mscale"})
    object["rope_scaling"][name] = rope.attention_factor;
}

void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.window();
  gguf.attention_bias();
  translate_experts(gguf, kExperts.d_ff_name);
  gguf.config()[kHeadBias] = gguf.fields().file().find_tensor("output.bias") != nullptr;
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  LayerSpecs specs(config, layer);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  specs.queries_keys_values();
  specs.output();
  specs.norm("post_attention_layernorm", "ffn_norm", &LayerWeights::feed_forward_norm);
  specs.router("block_sparse_moe.gate");
  specs.experts(kMixtralExperts);
  return specs.take();
}

ModelConfig tiny_phimoe() {
  ModelConfig config =
      tiny_shape(kPhiMoe, {.n_layers = 2, .head_dim = 16, .d_ff = 40, .tied = false});
  set_experts(config, 6, 2, 40);
  config.experts.mixer_jitter = 0.01f;
  config.qkv_bias = config.o_bias = config.head_bias = true;
  config.rotations = {{.type = RopeType::kLongRope,
                       .attention_factor = 1.25,
                       .original_positions = 1024,
                       .short_factor = {1, 1, 1.05, 1.1, 1.5, 2, 2, 2},
                       .long_factor = {1, 1.2, 2.5, 4, 9.5, 32, 40, 50}}};
  return config;
}

std::vector<NamedShape> shapes() { return {{"tiny-phimoe", tiny_phimoe()}}; }

}  // namespace

const Family kPhiMoe = {.name = "phimoe",
                        .architecture = "PhimoeForCausalLM",
                        .gguf_architecture = "phimoe",
                        .older_architecture = "PhiMoEForCausalLM",
                        .offers = kExpertOffers,
                        .fix = fix,
                        .read = read,
                        .write = write,
                        .translate = translate,
                        .layer_weights = layer_weights,
                        .shapes = shapes};

}  // namespace pando::model
