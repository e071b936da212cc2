// Gated delta-nets: Qwen3-Next and Qwen3.5, where every few layers have attention whose output is
// gated, and OLMo Hybrid.
#include "base/counted.h"
#include "base/errors.h"
#include "base/gguf.h"
#include "base/json.h"
#include "model/families/hooks.h"
#include "model/families/mixers.h"

namespace pando::model {
namespace {

// Sizes, with defaults for absent fields.
struct DeltaSizes {
  int64_t n_key_heads = 16, n_heads = 32, key_dim = 128, value_dim = 128;
};
constexpr const char *kDeltaKeyHeads = "linear_num_key_heads",
                     *kDeltaKeyDim = "linear_key_head_dim";
// In layer_types.
constexpr NamedMixer kDeltaMixers[] = {{"linear_attention", Mixer::kDeltaNet},
                                       {"full_attention", Mixer::kAttention}};

constexpr const char* kShare = "partial_rotary_factor";  // absent: a quarter

// Queries and gates take turns, head by head.
void add_gated_attention(LayerSpecs& specs, const ModelConfig& c) {
  const RowOrder by_head = {.groups = c.n_heads, .runs = {c.head_dim, c.head_dim}};
  for (const auto& [part, n] :
       {std::pair{'q', 2 * c.q_dim()}, {'k', c.kv_dim()}, {'v', c.kv_dim()}}) {
    const std::string name = fmt::format("self_attn.{}_proj", part);
    const std::string gguf = fmt::format("attn_{}", part);
    const RowOrder rows = part == 'q' ? by_head : RowOrder();
    WeightSpec& weight = specs.add((name + ".weight").c_str(), (gguf + ".weight").c_str(),
                                   {n, c.d_model}, Role::kQkv);
    weight.rows = weight.gguf_rows = rows;
    if (!c.qkv_bias) continue;
    WeightSpec& bias =
        specs.add((name + ".bias").c_str(), (gguf + ".bias").c_str(), {n}, Role::kQkvBias);
    bias.rows = bias.gguf_rows = rows;
  }
  specs.query_key_norms();
  specs.output("self_attn.o_proj");
}

// In a checkpoint the value heads of one key head are neighbours; here, and in GGUF files, value
// head h goes with key head h % n_key_heads.
void add_qwen3_5(LayerSpecs& specs, const ModelConfig& c) {
  const RecurrentConfig& r = c.recurrent;
  const int channels = c.conv_channels(Mixer::kDeltaNet), values = r.value_width();
  // The value heads follow after `first` rows, with `run` rows each.
  const auto add = [&](const char* name, const char* gguf_name, std::vector<int64_t> shape,
                       Role part, int64_t first, int64_t run) -> WeightSpec& {
    WeightSpec& spec =
        specs.add(fmt::format("linear_attn.{}", name).c_str(), gguf_name, std::move(shape), part);
    spec.rows = {first, r.n_key_heads, std::vector<int64_t>(r.n_heads / r.n_key_heads, run)};
    return spec;
  };
  const int64_t v = 2 * r.key_width(), d = c.d_model, n = r.n_heads;
  const auto in = Role::kQkv;
  add("in_proj_qkv.weight", "attn_qkv.weight", {channels, d}, in, v, r.value_dim);
  add("in_proj_z.weight", "attn_gate.weight", {values, d}, in, 0, r.value_dim);
  add("in_proj_b.weight", "ssm_beta.weight", {n, d}, in, 0, 1);
  add("in_proj_a.weight", "ssm_alpha.weight", {n, d}, in, 0, 1);
  add("conv1d.weight", "ssm_conv1d.weight", {channels, 1, r.conv_taps}, Role::kConv, v,
      r.value_dim);
  add("A_log", "ssm_a", {n}, Role::kDecay, 0, 1).stored = Stored::kLogDecay;
  add("dt_bias", "ssm_dt.bias", {n}, Role::kDtBias, 0, 1);
  specs.add("linear_attn.norm.weight", "ssm_norm.weight", {r.value_dim}, Role::kStateNorm);
  WeightSpec& out =
      specs.add("linear_attn.out_proj.weight", "ssm_out.weight", {d, values}, Role::kO);
  out.columns = {0, r.n_key_heads, std::vector<int64_t>(r.n_heads / r.n_key_heads, r.value_dim)};
}

// A checkpoint has all outputs of one key head and its value heads together: queries, keys, values
// and z in one tensor, b and a in another.
void add_qwen3_next(LayerSpecs& specs, const ModelConfig& c) {
  const RecurrentConfig& r = c.recurrent;
  const int channels = c.conv_channels(Mixer::kDeltaNet), values = r.value_width();
  const int64_t n = r.n_heads, each = r.n_heads / r.n_key_heads, wide = each * r.value_dim;
  WeightSpec& in =
      specs.add("linear_attn.in_proj_qkvz.weight", "", {channels + values, c.d_model}, Role::kQkv);
  in.gguf_parts = {{specs.gguf_name("attn_qkv.weight"), channels},
                   {specs.gguf_name("attn_gate.weight"), values}};
  in.rows = {0, r.n_key_heads, {r.key_dim, r.key_dim, wide, wide}};
  WeightSpec& gates =
      specs.add("linear_attn.in_proj_ba.weight", "ssm_ba.weight", {2 * n, c.d_model}, Role::kQkv);
  gates.rows = gates.gguf_rows = {0, r.n_key_heads, {each, each}};
  specs.add("linear_attn.conv1d.weight", "ssm_conv1d.weight", {channels, 1, r.conv_taps},
            Role::kConv);
  specs.add("linear_attn.A_log", "ssm_a", {n}, Role::kDecay).stored = Stored::kLogDecay;
  specs.add("linear_attn.dt_bias", "ssm_dt.bias", {n}, Role::kDtBias);
  specs.add("linear_attn.norm.weight", "ssm_norm.weight", {r.value_dim}, Role::kStateNorm);
  specs.add("linear_attn.out_proj.weight", "ssm_out.weight", {c.d_model, values}, Role::kO);
}

void read_delta_sizes(Fields& fields, const DeltaSizes& usual, ModelConfig& config) {
  const auto size = [&](const char* name, const WholeRange& range, int64_t fallback) {
    return static_cast<int>(fields.integer(name, range, fallback));
  };
  RecurrentConfig& r = config.recurrent;
  r.conv_taps = size("linear_conv_kernel_dim", kConvTaps, 4);
  r.n_key_heads = size(kDeltaKeyHeads, kHeadCounts, usual.n_key_heads);
  r.n_heads = size("linear_num_value_heads", kHeadCounts, usual.n_heads);
  r.key_dim = size(kDeltaKeyDim, kHeadSizes, usual.key_dim);
  r.value_dim = size("linear_value_head_dim", kHeadSizes, usual.value_dim);
}

void write_delta_sizes(const ModelConfig& config, nlohmann::ordered_json& object) {
  const RecurrentConfig& r = config.recurrent;
  object["linear_conv_kernel_dim"] = r.conv_taps;
  object[kDeltaKeyHeads] = r.n_key_heads;
  object["linear_num_value_heads"] = r.n_heads;
  object[kDeltaKeyDim] = r.key_dim;
  object["linear_value_head_dim"] = r.value_dim;
}

}  // namespace

void read_delta_net(Fields& fields, ModelConfig& config) {
  DecoderFields decoder = config.family->decoder;
  decoder.rope.rotary_share = 0.25;
  read_usual(fields, decoder, config);
  read_delta_sizes(fields, {}, config);
  if (read_mixers(fields, kDeltaMixers, config)) return;
  constexpr const char* kInterval = "full_attention_interval";
  set_interval(fields.integer(kInterval, 1, kMaxLayers, 4), Mixer::kDeltaNet, config);
  refuse_no_attention(fields, kInterval, config);
}

void read_qwen3_5(Fields& fields, ModelConfig& config) {
  read_delta_net(fields, config);
  constexpr const char* kGate = "attn_output_gate";
  if (!fields.boolean(kGate, true))
    fields.refuse(kGate, fmt::format("true for {}", config.family->name), ErrorCode::kUnsupported);
}

void write_delta_net(const ModelConfig& config, nlohmann::ordered_json& object) {
  write_usual(config, object);
  write_delta_sizes(config, object);
  object[kShare] = config.rotations[0].rotary_share;
  write_mixers(config, kDeltaMixers, object);
}

void translate_delta_net(GgufTranslator& gguf) {
  translate_usual(gguf);
  GgufFields& fields = gguf.fields();
  Json& config = gguf.config();
  const int64_t n_mtp = gguf.multi_token_blocks();
  if (!fields.status()) return;
  const int64_t n_layers = config["num_hidden_layers"], n_blocks = n_layers + n_mtp;
  gguf.integer("ssm.conv_kernel", "linear_conv_kernel_dim");
  gguf.integer("ssm.group_count", "linear_num_key_heads");
  gguf.integer("ssm.state_size", "linear_key_head_dim");
  const int64_t n_heads = fields.required_integer("ssm.time_step_rank"),
                width = fields.required_integer("ssm.inner_size");
  if (n_heads < 1 || width % n_heads != 0)
    return fields.refuse("ssm.inner_size",
                         fmt::format("a multiple of 'ssm.time_step_rank' {}", n_heads));
  config["linear_num_value_heads"] = n_heads;
  config["linear_value_head_dim"] = width / n_heads;
  fields.comes_from_key("linear_num_value_heads", "ssm.time_step_rank");
  fields.comes_from_quotient("linear_value_head_dim", "ssm.inner_size", "ssm.time_step_rank");
  fields.copy_integer("full_attention_interval", "full_attention_interval", config);
  constexpr const char* kRecurrent = "attention.recurrent_layers";
  if (!fields.has(kRecurrent)) return;
  const auto recurrent = fields.file().integers(fields.key(kRecurrent));
  if (!recurrent) return fields.fail(recurrent.error());
  const int64_t n_values = std::ssize(**recurrent);
  if (n_values != n_blocks && n_values != n_layers)
    return fields.fail(
        in_file(fields.source(),
                bad_file("'{}' has {}, expected {}, one for each block", fields.key(kRecurrent),
                         counted((**recurrent).size(), "entries"), n_blocks)));
  fields.comes_from_key("layer_types", kRecurrent);
  config["layer_types"] = Json::array();
  for (int64_t i = 0; i < n_layers; ++i)
    config["layer_types"].push_back((**recurrent)[i] != 0 ? "linear_attention" : "full_attention");
}

bool add_qwen3_5_mixer(LayerSpecs& specs, const ModelConfig& config, int layer) {
  const bool is_delta = config.layers[layer].mixer == Mixer::kDeltaNet;
  is_delta ? add_qwen3_5(specs, config) : add_gated_attention(specs, config);
  return true;
}

bool add_qwen3_next_mixer(LayerSpecs& specs, const ModelConfig& config, int layer) {
  const bool is_delta = config.layers[layer].mixer == Mixer::kDeltaNet;
  is_delta ? add_qwen3_next(specs, config) : add_gated_attention(specs, config);
  return true;
}

std::string_view delta_net_passed_over(const ModelConfig& config, std::string_view tensor) {
  if (tensor.starts_with("model.visual.")) return "vision tower";
  if (tensor.starts_with("mtp.")) return kMultiToken;
  return block_of(tensor) >= config.n_layers() ? kMultiToken : std::string_view();
}

// OLMo Hybrid: OLMo 2's attention in some layers, without or with rotation, and delta-nets in the
// others, which have Llama's norms. No GGUF file has this architecture.

namespace {

constexpr const char *kDoubled = "linear_allow_neg_eigval", *kRope = "rope_parameters",
                     *kTheta = "rope_theta";
constexpr int kInterval = 4;  // every fourth layer has attention, where nothing else is said

// False if theta is null. Programs read a file without any field of the rotation differently.
bool rotates(Fields& fields) {
  const Json* parameters = fields.find(kRope);
  if (parameters != nullptr && parameters->is_object() && parameters->contains(kTheta))
    return !(*parameters)[kTheta].is_null();
  if (fields.contains(kTheta)) return fields.has(kTheta);
  if (parameters == nullptr && !fields.has("rope_scaling"))
    fields.refuse(kRope, "an object with 'rope_theta'");
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

// The library renames and joins these tensors when it reads a file. When it writes one, it divides
// the convolution into thirds.
void add_delta_net(LayerSpecs& specs, const ModelConfig& c, int layer) {
  const RecurrentConfig& r = c.recurrent;
  const int keys = r.key_width(), values = r.value_width(), d = c.d_model;
  const auto add = [&](const char* name, std::vector<int64_t> shape, Role part) -> WeightSpec& {
    return specs.add(fmt::format("linear_attn.{}", name).c_str(), "", std::move(shape), part);
  };
  const auto in = Role::kQkv;
  add("q_proj.weight", {keys, d}, in);
  add("k_proj.weight", {keys, d}, in);
  add("v_proj.weight", {values, d}, in);
  add("g_proj.weight", {values, d}, in);
  add("b_proj.weight", {r.n_heads, d}, in);
  add("a_proj.weight", {r.n_heads, d}, in);
  WeightSpec& conv = add("conv1d.weight", {2 * keys + values, 1, r.conv_taps}, Role::kConv);
  for (const auto& [part, n] : {std::pair{'q', keys}, {'k', keys}, {'v', values}})
    conv.parts.push_back(
        {layer_weight_name(layer, fmt::format("linear_attn.{}_conv1d.weight", part)), n});
  add("A_log", {r.n_heads}, Role::kDecay).stored = Stored::kLogDecay;
  add("dt_bias", {r.n_heads}, Role::kDtBias);
  add("o_norm.weight", {r.value_dim}, Role::kStateNorm);
  add("o_proj.weight", {d, values}, Role::kO);
}

// A norm, which files of the library may have by another name than published ones.
void add_norm(LayerSpecs& specs, const ModelConfig& c, int layer, const char* name,
              const char* published, Role part) {
  WeightSpec& spec = specs.add(fmt::format("{}.weight", name).c_str(), "", {c.d_model}, part);
  spec.parts = {{layer_weight_name(layer, fmt::format("{}.weight", published)), c.d_model}};
}

}  // namespace

void read_olmo_hybrid(Fields& fields, ModelConfig& config) {
  read_usual(fields, config);
  if (!rotates(fields)) config.rotations = {{.rotary_share = 0.0}};
  read_states(fields, config);
  if (read_mixers(fields, kDeltaMixers, config)) return;
  set_interval(kInterval, Mixer::kDeltaNet, config);
  if (config.n_attention_layers() == 0) config.layers.back().mixer = Mixer::kAttention;
}

void write_olmo_hybrid(const ModelConfig& config, ordered_json& object) {
  write_usual(config, object);
  if (config.rotations[0].rotary_share == 0.0)
    object[kRope] = {{"rope_type", "default"}, {kTheta, nullptr}};
  write_delta_sizes(config, object);
  object[kDoubled] = config.recurrent.doubled_beta;
  write_mixers(config, kDeltaMixers, object);
}

std::vector<WeightSpec> olmo_hybrid_layer(const ModelConfig& c, int layer) {
  constexpr const char *kBehind = "post_attention_layernorm", *kOther = "feedforward_layer_norm";
  LayerSpecs specs(c, layer);
  if (c.layers[layer].mixer == Mixer::kDeltaNet) {
    add_norm(specs, c, layer, "input_layernorm", "attention_layer_norm", Role::kAttentionNorm);
    add_delta_net(specs, c, layer);
    add_norm(specs, c, layer, kBehind, kOther, Role::kFeedForwardNorm);
    specs.feed_forward();
    return specs.take();
  }
  specs.attention();
  add_norm(specs, c, layer, kOther, kBehind, Role::kAttentionSumNorm);
  specs.feed_forward();
  specs.norm("post_feedforward_layernorm", "", Role::kFeedForwardSumNorm);
  return specs.take();
}

}  // namespace pando::model
