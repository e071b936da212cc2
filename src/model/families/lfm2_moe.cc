// LFM2 with mixtures of experts behind the first layers; experts are chosen by sigmoids.
#include "model/families/experts.h"
#include "model/families/lfm2.h"
#include "model/families/list.h"
#include "model/families/shapes.h"

namespace pando::model {
namespace {

constexpr ExpertFields kExperts = {.n_experts = 32, .n_used = 4};
constexpr const char *kDense = "num_dense_layers", *kBias = "use_expert_bias",
                     *kRenormalised = "norm_topk_prob", *kScale = "routed_scaling_factor";

void fix(ModelConfig& config) {
  fix_lfm2(config);
  config.experts.scores = RouterScores::kSigmoid;
}

void read(Fields& fields, ModelConfig& config) {
  read_lfm2(fields, "intermediate_size", kFeedForwardSizes, config);
  read_experts(fields, kExperts, config);
  ExpertsConfig& e = config.experts;
  if (e.n_experts == 0) return;
  set_mixtures(static_cast<int>(fields.integer(kDense, 0, kMaxLayers, 2)), config);
  e.choice_bias = fields.boolean(kBias, true);
  e.renormalised = fields.boolean(kRenormalised, true);
  e.weight_scale = static_cast<float>(fields.positive(kScale, 1.0));
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  const ExpertsConfig& e = config.experts;
  write_lfm2(config, object);
  write_experts(config, kExperts, object);
  object[kDense] = n_dense_layers(config);
  object[kBias] = e.choice_bias;
  object[kRenormalised] = e.renormalised;
  object[kScale] = nlohmann::json::parse(fmt::format("{}", e.weight_scale));
}

// Readers renormalise.
void translate(GgufTranslator& gguf) {
  translate_lfm2(gguf);
  translate_experts(gguf);
  require_sigmoids(gguf);
  nlohmann::json& config = gguf.config();
  if (!gguf.fields().copy_integer("leading_dense_block_count", kDense, config)) config[kDense] = 0;
  config[kBias] = gguf.has_tensor(".exp_probs_b.bias");
  config[kRenormalised] = true;
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  LayerSpecs specs = lfm2_mixer(config, layer);
  if (config.layers[layer].feed_forward == FeedForward::kDense) {
    add_lfm2_feed_forward(specs, config);
  } else {
    specs.router("feed_forward.gate", "feed_forward.expert_bias");
    specs.experts({.gate_up = "feed_forward.experts.gate_up_proj",
                   .down = "feed_forward.experts.down_proj",
                   .module = "feed_forward.experts",
                   .gate = "w1",
                   .up = "w3",
                   .down_of_one = "w2"});
  }
  return specs.take();
}

ModelConfig lfm2_8b() {
  ModelConfig config = shape_of(kLfm2Moe, {.vocab = 65536,
                                           .d_model = 2048,
                                           .n_layers = 24,
                                           .n_heads = 32,
                                           .n_kv_heads = 8,
                                           .d_ff = 7168,
                                           .head_dim = 64});
  set_lfm2_attention({2, 6, 10, 14, 18, 21}, config);
  config.recurrent.conv_taps = 3;
  config.rotations[0].theta = 1e6;
  config.max_positions = 128000;
  config.tied_embeddings = true;
  config.bos_id = 1;
  config.eos_ids = {7};
  set_experts(config, 32, 4, 1792);
  set_mixtures(2, config);
  config.experts.choice_bias = config.experts.renormalised = true;
  return config;
}

ModelConfig tiny_lfm2_moe() {
  ModelConfig config =
      tiny_shape(kLfm2Moe, {.n_layers = 4, .head_dim = 16, .d_ff = 168, .tied = true});
  set_lfm2_attention({1, 3}, config);
  config.recurrent.conv_taps = 3;
  set_experts(config, 8, 3, 40);
  set_mixtures(1, config);
  config.experts.choice_bias = config.experts.renormalised = true;
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"lfm2-8b-a1b", lfm2_8b()}, {"tiny-lfm2-moe", tiny_lfm2_moe()}};
}

}  // namespace

const Family kLfm2Moe = {.name = "lfm2_moe",
                         .architecture = "Lfm2MoeForCausalLM",
                         .gguf_architecture = "lfm2moe",
                         .offers = kExpertOffers,
                         .fix = fix,
                         .read = read,
                         .write = write,
                         .translate = translate,
                         .layer_weights = layer_weights,
                         .last_norm = last_lfm2_norm,
                         .shapes = shapes};

}  // namespace pando::model
