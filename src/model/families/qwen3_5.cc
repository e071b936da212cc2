// Qwen3.5 and Qwen3.6, dense.
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

void read(Fields& fields, ModelConfig& config) {
  read_delta_net(fields, /*sections=*/true, config);
  if (!fields.boolean("attn_output_gate", true))
    fields.refuse("attn_output_gate", fmt::format("true for {}", config.family->name),
                  ErrorCode::kUnsupported);
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

}  // namespace pando::model
