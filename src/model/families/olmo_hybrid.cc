// OLMo Hybrid: OLMo 2's attention in some layers, without or with rotation, and gated delta-nets in
// the others, which have Llama's norms. No GGUF file has this architecture.
#include "model/families/decoder_fields.h"
#include "model/families/delta_net.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/mixers.h"
#include "model/families/olmo2.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"

namespace pando::model {
namespace {

using nlohmann::json;

constexpr const char *kDoubled = "linear_allow_neg_eigval", *kRope = "rope_parameters",
                     *kTheta = "rope_theta";
constexpr int kInterval = 4;  // every fourth layer has attention, where nothing else is said

void fix(ModelConfig& config) {
  fix_olmo2(config);
  config.recurrent.norm_eps = 1e-5f;
}

// A theta of null says that nothing rotates. Programs differ in what they make of a file without
// any field of the rotation.
bool rotates(Fields& fields) {
  const json* parameters = fields.find(kRope);
  if (parameters != nullptr && parameters->is_object() && parameters->contains(kTheta))
    return !(*parameters)[kTheta].is_null();
  if (fields.contains(kTheta)) return fields.has(kTheta);
  if (parameters == nullptr && !fields.has("rope_scaling"))
    fields.refuse(kRope,
                  "an object with 'rope_theta' (hint: set its 'rope_theta' to null if layers with "
                  "attention do not rotate queries and keys)");
  return true;
}

void read_states(Fields& fields, ModelConfig& config) {
  DeltaSizes usual = {.n_key_heads = config.n_heads, .n_heads = config.n_heads};
  const int64_t n_key_heads = fields.integer(kDeltaKeyHeads, kHeadCounts, usual.n_key_heads);
  usual.key_dim = 3 * int64_t{config.d_model} / (4 * n_key_heads);
  usual.value_dim = 2 * fields.integer(kDeltaKeyDim, kHeadSizes, usual.key_dim);
  read_delta_sizes(fields, usual, config);
  config.recurrent.doubled_beta = fields.boolean(kDoubled, true);
}

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields, {.kv_heads_as_heads = true, .attention_bias = true}, config);
  if (!rotates(fields)) config.rotations = {{.rotary_share = 0.0}};
  refuse_sliding_window(fields, config);
  read_states(fields, config);
  if (read_mixers(fields, kDeltaMixers, config)) return;
  set_interval(kInterval, Mixer::kDeltaNet, config);
  if (config.n_attention_layers() == 0) config.layers.back().mixer = Mixer::kAttention;
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  if (config.rotations[0].rotary_share == 0.0)
    object[kRope] = {{"rope_type", "default"}, {kTheta, nullptr}};
  write_delta_sizes(config, object);
  object[kDoubled] = config.recurrent.doubled_beta;
  write_mixers(config, kDeltaMixers, object);
}

// The library renames and joins these tensors when it reads a file. When it writes one, it divides
// the convolution into thirds.
void add_delta_net(LayerSpecs& specs, const ModelConfig& c, int layer) {
  const RecurrentConfig& r = c.recurrent;
  const int keys = r.key_width(), values = r.value_width(), d = c.d_model;
  const auto add = [&](const char* name, std::vector<int64_t> shape,
                       LayerPart part) -> WeightSpec& {
    return specs.add(fmt::format("linear_attn.{}", name).c_str(), "", std::move(shape), part);
  };
  const auto in = &LayerWeights::qkv;
  add("q_proj.weight", {keys, d}, in);
  add("k_proj.weight", {keys, d}, in);
  add("v_proj.weight", {values, d}, in);
  add("g_proj.weight", {values, d}, in);
  add("b_proj.weight", {r.n_heads, d}, in);
  add("a_proj.weight", {r.n_heads, d}, in);
  WeightSpec& conv = add("conv1d.weight", {2 * keys + values, 1, r.conv_taps}, &LayerWeights::conv);
  for (const auto& [part, n] : {std::pair{'q', keys}, {'k', keys}, {'v', values}})
    conv.parts.push_back(
        {layer_weight_name(layer, fmt::format("linear_attn.{}_conv1d.weight", part)), n});
  add("A_log", {r.n_heads}, &LayerWeights::decay).stored = Stored::kLogDecay;
  add("dt_bias", {r.n_heads}, &LayerWeights::dt_bias);
  add("o_norm.weight", {r.value_dim}, &LayerWeights::state_norm);
  add("o_proj.weight", {d, values}, &LayerWeights::o);
}

// A norm, which files of the library may have by another name than published ones.
void add_norm(LayerSpecs& specs, const ModelConfig& c, int layer, const char* name,
              const char* published, std::vector<float> LayerWeights::*part) {
  WeightSpec& spec = specs.add(fmt::format("{}.weight", name).c_str(), "", {c.d_model}, part);
  spec.parts = {{layer_weight_name(layer, fmt::format("{}.weight", published)), c.d_model}};
}

std::vector<WeightSpec> layer_weights(const ModelConfig& c, int layer) {
  constexpr const char *kBehind = "post_attention_layernorm", *kOther = "feedforward_layer_norm";
  LayerSpecs specs(c, layer);
  if (c.layers[layer].mixer == Mixer::kDeltaNet) {
    add_norm(specs, c, layer, "input_layernorm", "attention_layer_norm",
             &LayerWeights::attention_norm);
    add_delta_net(specs, c, layer);
    add_norm(specs, c, layer, kBehind, kOther, &LayerWeights::feed_forward_norm);
    specs.gate_and_up();
    specs.down();
    return specs.take();
  }
  specs.queries_keys_values();
  specs.query_key_norms();
  specs.output();
  add_norm(specs, c, layer, kOther, kBehind, &LayerWeights::attention_sum_norm);
  specs.gate_and_up();
  specs.down();
  specs.norm("post_feedforward_layernorm", "", &LayerWeights::feed_forward_sum_norm);
  return specs.take();
}

ModelConfig olmo_hybrid_7b() {
  ModelConfig config = shape_of(kOlmoHybrid, {.vocab = 100352,
                                              .d_model = 3840,
                                              .n_layers = 32,
                                              .n_heads = 30,
                                              .n_kv_heads = 30,
                                              .d_ff = 11008});
  set_interval(kInterval, Mixer::kDeltaNet, config);
  config.rms_eps = 1e-6f;
  config.rotations = {{.rotary_share = 0.0}};
  config.max_positions = 65536;
  config.eos_ids = {100257};
  RecurrentConfig& r = config.recurrent;
  r.conv_taps = 4;
  r.n_key_heads = r.n_heads = 30;
  r.key_dim = 96;
  r.value_dim = 192;
  r.doubled_beta = true;
  return config;
}

// Two value heads for a key head, which no published file has.
ModelConfig tiny_olmo_hybrid() {
  ModelConfig config =
      tiny_shape(kOlmoHybrid, {.n_layers = 4, .head_dim = 16, .d_ff = 152, .tied = false});
  set_interval(2, Mixer::kDeltaNet, config);
  config.rotations = {{.rotary_share = 0.0}};
  RecurrentConfig& r = config.recurrent;
  r.conv_taps = 4;
  r.n_key_heads = 2;
  r.n_heads = 4;
  r.key_dim = 20;
  r.value_dim = 36;
  r.doubled_beta = true;
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"olmo-hybrid-7b", olmo_hybrid_7b()}, {"tiny-olmo-hybrid", tiny_olmo_hybrid()}};
}

}  // namespace

const Family kOlmoHybrid = {.name = "olmo_hybrid",
                            .architecture = "OlmoHybridForCausalLM",
                            .fix = fix,
                            .read = read,
                            .write = write,
                            .layer_weights = layer_weights,
                            .shapes = shapes};

}  // namespace pando::model
