// Qwen3-Next, whose published models have mixtures of experts.
#include "model/families/delta_net.h"
#include "model/families/list.h"
#include "model/families/mixers.h"
#include "model/families/shapes.h"

namespace pando::model {
namespace {

constexpr ExpertFields kExperts = {.n_experts = 512, .n_used = 10};
constexpr const char* kRenormalised = "norm_topk_prob";

void read(Fields& fields, ModelConfig& config) {
  read_delta_net(fields, /*sections=*/false, config);
  read_delta_net_experts(fields, kExperts, config);
  read_dense_layers(fields, config);
  config.experts.renormalised = fields.boolean(kRenormalised, true);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  write_delta_net(config, object);
  write_delta_net_experts(config, kExperts, object);
  write_dense_layers(config, object);
  object[kRenormalised] = config.experts.renormalised;
}

void translate(GgufTranslator& gguf) {
  translate_delta_net(gguf);
  translate_delta_net_experts(gguf);
}

// A checkpoint has all outputs of one key head and its value heads together: queries, keys, values
// and z in one tensor, b and a in another.
void add_delta_net(LayerSpecs& specs, const ModelConfig& c) {
  const RecurrentConfig& r = c.recurrent;
  const int channels = c.conv_channels(Mixer::kDeltaNet), values = r.value_width();
  const int64_t n = r.n_heads, each = r.n_heads / r.n_key_heads, wide = each * r.value_dim;
  WeightSpec& in = specs.add("linear_attn.in_proj_qkvz.weight", "", {channels + values, c.d_model},
                             &LayerWeights::qkv);
  in.gguf_parts = {{specs.gguf_name("attn_qkv.weight"), channels},
                   {specs.gguf_name("attn_gate.weight"), values}};
  in.rows = {0, r.n_key_heads, {r.key_dim, r.key_dim, wide, wide}};
  WeightSpec& gates = specs.add("linear_attn.in_proj_ba.weight", "ssm_ba.weight",
                                {2 * n, c.d_model}, &LayerWeights::qkv);
  gates.rows = gates.gguf_rows = {0, r.n_key_heads, {each, each}};
  specs.add("linear_attn.conv1d.weight", "ssm_conv1d.weight", {channels, 1, r.conv_taps},
            &LayerWeights::conv);
  specs.add("linear_attn.A_log", "ssm_a", {n}, &LayerWeights::decay).stored = Stored::kLogDecay;
  specs.add("linear_attn.dt_bias", "ssm_dt.bias", {n}, &LayerWeights::dt_bias);
  specs.add("linear_attn.norm.weight", "ssm_norm.weight", {r.value_dim}, &LayerWeights::state_norm);
  specs.add("linear_attn.out_proj.weight", "ssm_out.weight", {c.d_model, values}, &LayerWeights::o);
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  return delta_net_layer(config, layer, add_delta_net);
}

ModelConfig tiny_qwen3_next() {
  ModelConfig config =
      tiny_shape(kQwen3Next, {.n_layers = 4, .head_dim = 16, .d_ff = 144, .tied = false});
  set_interval(2, Mixer::kDeltaNet, config);
  config.rotations[0].rotary_share = 0.5;
  RecurrentConfig& r = config.recurrent;
  r.conv_taps = 3;
  r.n_key_heads = 2;
  r.n_heads = 6;
  r.key_dim = 16;
  r.value_dim = 12;
  config.experts.renormalised = true;
  return config;
}

ModelConfig tiny_qwen3_next_moe() {
  ModelConfig config = tiny_qwen3_next();
  set_experts(config, 10, 3, 20);
  config.experts.shared_d_ff = 36;
  config.experts.shared_gate = true;
  config.layers[3].feed_forward = FeedForward::kDense;
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"tiny-qwen3-next", tiny_qwen3_next()}, {"tiny-qwen3-next-moe", tiny_qwen3_next_moe()}};
}

}  // namespace

const Family kQwen3Next = {.name = "qwen3_next",
                           .architecture = "Qwen3NextForCausalLM",
                           .gguf_architecture = "qwen3next",
                           .offers = kExpertOffers,
                           .fix = fix_delta_net,
                           .read = read,
                           .write = write,
                           .translate = translate,
                           .layer_weights = layer_weights,
                           .last_norm = last_delta_net_norm,
                           .passed_over = delta_net_passed_over,
                           .shapes = shapes};

}  // namespace pando::model
