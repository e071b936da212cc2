// Qwen3.5 and Qwen3.6, dense and with mixtures of experts.
#include "model/families/delta_net.h"
#include "model/families/list.h"
#include "model/families/mixers.h"
#include "model/families/shapes.h"

namespace pando::model {
namespace {

constexpr std::string_view kOffers[] = {"attn_output_gate", "use_mrope", "rope.dimension_sections"};

void fix(ModelConfig& config) {
  fix_delta_net(config);
  config.recurrent.heads_interleaved = true;  // as GGUF files hold them
}

void refuse_no_gate(Fields& fields, const ModelConfig& config) {
  constexpr const char* kGate = "attn_output_gate";
  if (!fields.boolean(kGate, true))
    fields.refuse(kGate, fmt::format("true for {}", config.family->name), ErrorCode::kUnsupported);
}

void read(Fields& fields, ModelConfig& config) {
  read_delta_net(fields, /*sections=*/true, config);
  refuse_no_gate(fields, config);
}

constexpr auto kMixtureOffers = joined(kOffers, kExpertOffers);
constexpr ExpertFields kExperts = {.n_experts = 256, .n_used = 8};

void fix_mixture(ModelConfig& config) {
  fix(config);
  config.experts.renormalised = true;
}

void read_mixture(Fields& fields, ModelConfig& config) {
  read_delta_net(fields, /*sections=*/true, config, kExperts.d_ff_name);
  refuse_no_gate(fields, config);
  read_delta_net_experts(fields, kExperts, config);
}

void write_mixture(const ModelConfig& config, nlohmann::ordered_json& object) {
  write_delta_net(config, object);
  write_delta_net_experts(config, kExperts, object);
}

void translate_mixture(GgufTranslator& gguf) {
  translate_delta_net(gguf);
  translate_delta_net_experts(gguf);
}

// In a checkpoint the value heads of one key head are neighbours; here, and in GGUF files, value
// head h goes with key head h % n_key_heads.
void add_delta_net(LayerSpecs& specs, const ModelConfig& c) {
  const RecurrentConfig& r = c.recurrent;
  const int channels = c.conv_channels(Mixer::kDeltaNet), values = r.value_width();
  // Behind `first` rows come the value heads, of `run` rows each.
  const auto add = [&](const char* name, const char* gguf_name, std::vector<int64_t> shape,
                       LayerPart part, int64_t first, int64_t run) -> WeightSpec& {
    WeightSpec& spec =
        specs.add(fmt::format("linear_attn.{}", name).c_str(), gguf_name, std::move(shape), part);
    spec.rows = {first, r.n_key_heads, std::vector<int64_t>(r.n_heads / r.n_key_heads, run)};
    return spec;
  };
  const int64_t v = 2 * r.key_width(), d = c.d_model, n = r.n_heads;
  const auto in = &LayerWeights::qkv;
  add("in_proj_qkv.weight", "attn_qkv.weight", {channels, d}, in, v, r.value_dim);
  add("in_proj_z.weight", "attn_gate.weight", {values, d}, in, 0, r.value_dim);
  add("in_proj_b.weight", "ssm_beta.weight", {n, d}, in, 0, 1);
  add("in_proj_a.weight", "ssm_alpha.weight", {n, d}, in, 0, 1);
  add("conv1d.weight", "ssm_conv1d.weight", {channels, 1, r.conv_taps}, &LayerWeights::conv, v,
      r.value_dim);
  add("A_log", "ssm_a", {n}, &LayerWeights::decay, 0, 1).stored = Stored::kLogDecay;
  add("dt_bias", "ssm_dt.bias", {n}, &LayerWeights::dt_bias, 0, 1);
  specs.add("linear_attn.norm.weight", "ssm_norm.weight", {r.value_dim}, &LayerWeights::state_norm);
  WeightSpec& out =
      specs.add("linear_attn.out_proj.weight", "ssm_out.weight", {d, values}, &LayerWeights::o);
  out.columns = {0, r.n_key_heads, std::vector<int64_t>(r.n_heads / r.n_key_heads, r.value_dim)};
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  return delta_net_layer(config, layer, add_delta_net);
}

struct Shape {
  int d_model, n_layers, n_heads, n_kv_heads, d_ff, n_value_heads;
  bool tied;
};

ModelConfig qwen3_5(const Shape& shape) {
  ModelConfig config = shape_of(kQwen3_5, {.vocab = 248320,
                                           .d_model = shape.d_model,
                                           .n_layers = shape.n_layers,
                                           .n_heads = shape.n_heads,
                                           .n_kv_heads = shape.n_kv_heads,
                                           .d_ff = shape.d_ff,
                                           .head_dim = 256});
  set_interval(4, Mixer::kDeltaNet, config);
  config.rms_eps = 1e-6f;
  config.rotations[0] = {.theta = 1e7, .rotary_share = 0.25};
  config.max_positions = 262144;
  config.tied_embeddings = shape.tied;
  config.eos_ids = {248044};
  RecurrentConfig& r = config.recurrent;
  r.conv_taps = 4;
  r.n_key_heads = 16;
  r.n_heads = shape.n_value_heads;
  r.key_dim = r.value_dim = 128;
  return config;
}

// Two value heads for a key head; values wider than keys, and than one slice of a state.
ModelConfig tiny_qwen3_5() {
  ModelConfig config =
      tiny_shape(kQwen3_5, {.n_layers = 4, .head_dim = 16, .d_ff = 168, .tied = true});
  set_interval(2, Mixer::kDeltaNet, config);
  config.rotations[0] = {.theta = 1e4, .rotary_share = 0.25};
  RecurrentConfig& r = config.recurrent;
  r.conv_taps = 4;
  r.n_key_heads = 2;
  r.n_heads = 4;
  r.key_dim = 20;
  r.value_dim = 36;
  return config;
}

// As published: Qwen3.5-35B-A3B, which is Qwen3.6's shape too.
ModelConfig qwen3_5_35b() {
  ModelConfig config = qwen3_5({2048, 40, 16, 2, 512, 32, false});
  config.family = &kQwen3_5Moe;
  set_experts(config, 256, 8, 512);
  config.experts.shared_d_ff = 512;
  config.experts.shared_gate = config.experts.renormalised = true;
  return config;
}

ModelConfig tiny_qwen3_5_moe() {
  ModelConfig config = tiny_qwen3_5();
  config.family = &kQwen3_5Moe;
  config.d_ff = 24;
  set_experts(config, 7, 3, 24);
  config.experts.shared_d_ff = 40;
  config.experts.shared_gate = config.experts.renormalised = true;
  return config;
}

std::vector<NamedShape> mixture_shapes() {
  return {{"qwen3.5-35b-a3b", qwen3_5_35b()}, {"tiny-qwen3.5-moe", tiny_qwen3_5_moe()}};
}

std::vector<NamedShape> shapes() {
  return {{"qwen3.5-0.8b", qwen3_5({1024, 24, 8, 2, 3584, 16, true})},
          {"qwen3.5-4b", qwen3_5({2560, 32, 16, 4, 9216, 32, true})},
          {"tiny-qwen3.5", tiny_qwen3_5()}};
}

}  // namespace

const Family kQwen3_5 = {.name = "qwen3_5_text",
                         .architecture = "Qwen3_5ForCausalLM",
                         .gguf_architecture = "qwen35",
                         .wrapper = "qwen3_5",
                         .offers = kOffers,
                         .fix = fix,
                         .read = read,
                         .write = write_delta_net,
                         .translate = translate_delta_net,
                         .layer_weights = layer_weights,
                         .last_norm = last_delta_net_norm,
                         .passed_over = delta_net_passed_over,
                         .shapes = shapes};

const Family kQwen3_5Moe = {.name = "qwen3_5_moe_text",
                            .architecture = "Qwen3_5MoeForCausalLM",
                            .gguf_architecture = "qwen35moe",
                            .wrapper = "qwen3_5_moe",
                            .offers = kMixtureOffers,
                            .fix = fix_mixture,
                            .read = read_mixture,
                            .write = write_mixture,
                            .translate = translate_mixture,
                            .layer_weights = layer_weights,
                            .last_norm = last_delta_net_norm,
                            .passed_over = delta_net_passed_over,
                            .shapes = mixture_shapes};

}  // namespace pando::model
