// gpt-oss: sinks in attention, a window in every other layer, biases everywhere, and experts whose
// gates and ups are clamped.
#include <fmt/format.h>

#include <cmath>

#include "model/families/decoder_fields.h"
#include "model/families/experts.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr ExpertFields kExperts = {.n_experts = 128,
                                   .n_used = 4,
                                   .d_ff_name = "intermediate_size",
                                   .count_name = "num_local_experts"};
constexpr const char *kLimit = "swiglu_limit", *kAlpha = "swiglu_alpha", *kBias = "attention_bias";
constexpr std::string_view kOwnOffers[] = {kLimit};
constexpr auto kOffers = joined(kExpertOffers, kOwnOffers);
constexpr int kInterval = 2;  // every other layer sees all, where nothing else is said
constexpr double kTheta = 150000.0;

void fix(ModelConfig& config) {
  config.attention_sinks = true;
  config.activation = Activation::kClampedSilu;
  config.experts.scores = RouterScores::kSoftmaxOfChosen;
  config.experts.router_bias = config.experts.biases = true;
}

void set_windows_of(int window, ModelConfig& config) {
  for (size_t i = 0; i < config.layers.size(); i += kInterval) config.layers[i].window = window;
}

RopeConfig yarn(double factor, int original_positions) {
  return {.type = RopeType::kYarn,
          .theta = kTheta,
          .factor = factor,
          .attention_factor = 0.1 * std::log(factor) + 1.0,
          .original_positions = original_positions,
          .truncate = false};
}
RopeConfig usual_rotation() { return yarn(32.0, 4096); }

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields,
               {.head_dim = 64, .rms_eps = 1e-5, .attention_bias = true, .rope = {.theta = kTheta}},
               config);
  config.qkv_bias = config.o_bias = fields.boolean(kBias, true);
  if (fields.find("rope_parameters") == nullptr && fields.find("rope_scaling") == nullptr)
    config.rotations = {usual_rotation()};
  read_mixed_windows(fields, /*absent=*/128, kInterval, config);
  read_experts(fields, kExperts, config);
  if (config.experts.n_experts == 0) fields.refuse(kExperts.count_name, "at least 1");
  config.activation_alpha = static_cast<float>(fields.positive(kAlpha, 1.702));
  config.activation_limit = static_cast<float>(fields.positive(kLimit, 7.0));
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  write_experts(config, kExperts, object);
  object[kAlpha] = nlohmann::json::parse(fmt::format("{}", config.activation_alpha));
  object[kLimit] = nlohmann::json::parse(fmt::format("{}", config.activation_limit));
  write_mixed_windows(config, object);
}

void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.layer_windows(kInterval);
  gguf.attention_bias();
  translate_experts(gguf, kExperts.d_ff_name);
  // No key says it.
  if (gguf.config().contains("rope_scaling")) gguf.config()["rope_scaling"]["truncate"] = false;
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  LayerSpecs specs(config, layer);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  specs.queries_keys_values();
  specs.add("self_attn.sinks", "attn_sinks.weight", {config.n_heads}, &LayerWeights::sinks);
  specs.output();
  specs.norm("post_attention_layernorm", "post_attention_norm", &LayerWeights::feed_forward_norm);
  specs.router("mlp.router");
  specs.experts({.module = nullptr});
  for (WeightSpec& spec : specs.all()) {
    if (spec.part == LayerPart(&ExpertWeights::gate_up) ||
        spec.part == LayerPart(&ExpertWeights::gate_up_bias))
      spec.rows = {0, config.experts.d_ff, {1, 1}};  // gates and ups by turns
    spec.transposed = spec.shape.size() == 3;
  }
  return specs.take();
}

ModelConfig published(int n_layers, int n_experts) {
  ModelConfig config = shape_of(kGptOss, {.vocab = 201088,
                                          .d_model = 2880,
                                          .n_layers = n_layers,
                                          .n_heads = 64,
                                          .n_kv_heads = 8,
                                          .d_ff = 2880,
                                          .head_dim = 64});
  config.rotations = {usual_rotation()};
  config.max_positions = 131072;
  config.qkv_bias = config.o_bias = true;
  config.eos_ids = {200002};
  set_experts(config, n_experts, 4, config.d_ff);
  config.activation_alpha = 1.702f;
  config.activation_limit = 7.0f;
  set_windows_of(128, config);
  return config;
}

// A limit that some gates and ups reach.
ModelConfig tiny_gpt_oss() {
  ModelConfig config =
      tiny_shape(kGptOss, {.n_layers = 2, .head_dim = 16, .d_ff = 96, .tied = false});
  config.rotations = {yarn(4.0, 64)};
  config.qkv_bias = config.o_bias = true;
  set_experts(config, 6, 2, config.d_ff);
  config.activation_alpha = 1.702f;
  config.activation_limit = 1.5f;
  set_windows_of(24, config);
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"gpt-oss-20b", published(24, 32)},
          {"gpt-oss-120b", published(36, 128)},
          {"tiny-gpt-oss", tiny_gpt_oss()}};
}

}  // namespace

const Family kGptOss = {.name = "gpt_oss",
                        .architecture = "GptOssForCausalLM",
                        .gguf_architecture = "gpt-oss",
                        .offers = kOffers,
                        .fix = fix,
                        .read = read,
                        .write = write,
                        .translate = translate,
                        .layer_weights = layer_weights,
                        .shapes = shapes};

}  // namespace pando::model
