// Qwen3.5 and Qwen3.6, dense: layers of a gated delta-net, and every few layers attention whose
// output is gated. Norms are stored as w of 1 + w, but for the delta-net's own.
#include <charconv>

#include "base/gguf.h"
#include "model/families/decoder_fields.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/mixers.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr NamedMixer kMixers[] = {{"linear_attention", Mixer::kDeltaNet},
                                  {"full_attention", Mixer::kAttention}};
constexpr std::string_view kOffers[] = {"attn_output_gate", "use_mrope", "rope.dimension_sections"};

void fix(ModelConfig& config) {
  config.qk_norm = QkNorm::kPerHead;
  config.attention_gate = true;
  config.recurrent.heads_interleaved = true;  // as files of GGUF hold them
}

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields,
               {.head_dim = 256,
                .attention_bias = true,
                .rope = {.partial = true, .sections = true, .rotary_share = 0.25}},
               config);
  if (!fields.boolean("attn_output_gate", true))
    fields.refuse("attn_output_gate", "true for qwen3_5_text", ErrorCode::kUnsupported);
  if (fields.find("sliding_window") != nullptr)
    fields.refuse("sliding_window", "null for qwen3_5_text", ErrorCode::kUnsupported);
  const auto size = [&](const char* name, int64_t fallback) {
    return static_cast<int>(fields.integer(name, 1, kMaxWidth, fallback));
  };
  RecurrentConfig& r = config.recurrent;
  r.conv_taps = size("linear_conv_kernel_dim", 4);
  r.n_key_heads = size("linear_num_key_heads", 16);
  r.n_heads = size("linear_num_value_heads", 32);
  r.key_dim = size("linear_key_head_dim", 128);
  r.value_dim = size("linear_value_head_dim", 128);
  if (!read_mixers(fields, kMixers, config))
    set_interval(fields.integer("full_attention_interval", 1, kMaxLayers, 4), Mixer::kDeltaNet,
                 config);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  const RecurrentConfig& r = config.recurrent;
  object["linear_conv_kernel_dim"] = r.conv_taps;
  object["linear_num_key_heads"] = r.n_key_heads;
  object["linear_num_value_heads"] = r.n_heads;
  object["linear_key_head_dim"] = r.key_dim;
  object["linear_value_head_dim"] = r.value_dim;
  // Absent, it would be a quarter.
  object["partial_rotary_factor"] = config.rotations[0].rotary_share;
  write_mixers(config, kMixers, object);
}

// A block that predicts further tokens stands behind the layers, and counts as one.
void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
  gguf.attention_bias();
  GgufFields& fields = gguf.fields();
  nlohmann::json& config = gguf.config();
  if (!fields.status()) return;
  const auto integer = [&](const char* name) {
    const auto value = fields.integer(name);
    if (!value) fields.refuse(name, "a whole number");
    return value.value_or(1);
  };
  constexpr const char* kMtp = "nextn_predict_layers";
  const int64_t n_blocks = config["num_hidden_layers"], n_mtp = fields.integer(kMtp).value_or(0);
  if (n_mtp < 0 || n_mtp >= n_blocks)
    return fields.refuse(kMtp, fmt::format("a whole number below the {} blocks", n_blocks));
  config["num_hidden_layers"] = n_blocks - n_mtp;
  config["linear_conv_kernel_dim"] = integer("ssm.conv_kernel");
  config["linear_num_key_heads"] = integer("ssm.group_count");
  config["linear_key_head_dim"] = integer("ssm.state_size");
  const int64_t n_heads = integer("ssm.time_step_rank"), width = integer("ssm.inner_size");
  if (n_heads < 1 || width % n_heads != 0)
    return fields.refuse("ssm.inner_size",
                         fmt::format("a multiple of 'ssm.time_step_rank' {}", n_heads));
  config["linear_num_value_heads"] = n_heads;
  config["linear_value_head_dim"] = width / n_heads;
  config["full_attention_interval"] = fields.integer("full_attention_interval").value_or(4);
  constexpr const char* kRecurrent = "attention.recurrent_layers";
  if (!fields.has(kRecurrent)) return;
  const auto recurrent = fields.file().integers(fields.key(kRecurrent));
  if (!recurrent) return fields.fail(recurrent.error());
  if (std::ssize(**recurrent) < n_blocks - n_mtp)
    return fields.refuse(kRecurrent, fmt::format("a value for each of {} layers", n_blocks));
  config["layer_types"] = nlohmann::json::array();
  for (int64_t i = 0; i < n_blocks - n_mtp; ++i)
    config["layer_types"].push_back((**recurrent)[i] != 0 ? "linear_attention" : "full_attention");
}

// Queries and gates take turns, head by head.
void add_attention(LayerSpecs& specs, const ModelConfig& c) {
  WeightSpec& q = specs.add("self_attn.q_proj.weight", "attn_q.weight",
                            {2 * c.q_dim(), c.d_model}, &LayerWeights::qkv);
  q.rows = q.gguf_rows = {.outer = 2, .inner = c.n_heads, .run = c.head_dim};
  for (const char part : {'k', 'v'})
    specs.add(fmt::format("self_attn.{}_proj.weight", part).c_str(),
              fmt::format("attn_{}.weight", part).c_str(), {c.kv_dim(), c.d_model},
              &LayerWeights::qkv);
  if (c.qkv_bias) {
    WeightSpec& bias = specs.add("self_attn.q_proj.bias", "attn_q.bias", {2 * c.q_dim()},
                                 &LayerWeights::qkv_bias);
    bias.rows = bias.gguf_rows = q.rows;
    for (const char part : {'k', 'v'})
      specs.add(fmt::format("self_attn.{}_proj.bias", part).c_str(),
                fmt::format("attn_{}.bias", part).c_str(), {c.kv_dim()}, &LayerWeights::qkv_bias);
  }
  specs.query_key_norms();
  specs.output();
}

// In a checkpoint the value heads of one key head are neighbours; here, and in GGUF files, value
// head h goes with key head h % n_key_heads.
void add_delta_net(LayerSpecs& specs, const ModelConfig& c) {
  const RecurrentConfig& r = c.recurrent;
  const int channels = c.conv_channels(Mixer::kDeltaNet), values = r.value_width();
  const auto heads = [&](int64_t first, int64_t run) -> RowOrder {
    return {.first = first, .outer = r.n_heads / r.n_key_heads, .inner = r.n_key_heads, .run = run};
  };
  const int64_t v = 2 * r.key_width();  // where values begin
  specs.add("linear_attn.in_proj_qkv.weight", "attn_qkv.weight", {channels, c.d_model},
            &LayerWeights::qkv)
      .rows = heads(v, r.value_dim);
  specs.add("linear_attn.in_proj_z.weight", "attn_gate.weight", {values, c.d_model},
            &LayerWeights::qkv)
      .rows = heads(0, r.value_dim);
  specs.add("linear_attn.in_proj_b.weight", "ssm_beta.weight", {r.n_heads, c.d_model},
            &LayerWeights::qkv)
      .rows = heads(0, 1);
  specs.add("linear_attn.in_proj_a.weight", "ssm_alpha.weight", {r.n_heads, c.d_model},
            &LayerWeights::qkv)
      .rows = heads(0, 1);
  WeightSpec& conv = specs.add("linear_attn.conv1d.weight", "ssm_conv1d.weight",
                               {channels, 1, r.conv_taps}, &LayerWeights::conv);
  conv.rows = heads(v, r.value_dim);
  WeightSpec& decay =
      specs.add("linear_attn.A_log", "ssm_a", {r.n_heads}, &LayerWeights::decay);
  decay.rows = heads(0, 1);
  decay.stored = Stored::kLogDecay;
  specs.add("linear_attn.dt_bias", "ssm_dt.bias", {r.n_heads}, &LayerWeights::dt_bias).rows =
      heads(0, 1);
  specs.add("linear_attn.norm.weight", "ssm_norm.weight", {r.value_dim},
            &LayerWeights::state_norm);
  specs.add("linear_attn.out_proj.weight", "ssm_out.weight", {c.d_model, values}, &LayerWeights::o)
      .columns = heads(0, r.value_dim);
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  LayerSpecs specs(config, layer);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  if (config.layers[layer].mixer == Mixer::kDeltaNet) {
    add_delta_net(specs, config);
  } else {
    add_attention(specs, config);
  }
  specs.norm("post_attention_layernorm", "post_attention_norm", &LayerWeights::feed_forward_norm);
  specs.gate_and_up();
  specs.down();
  for (WeightSpec& spec : specs.all())
    for (const LayerPart part : {LayerPart(&LayerWeights::attention_norm),
                                 LayerPart(&LayerWeights::feed_forward_norm),
                                 LayerPart(&LayerWeights::q_norm),
                                 LayerPart(&LayerWeights::k_norm)})
      if (spec.part == part) spec.stored = Stored::kOneLess;
  return specs.take();
}

void last_norm(WeightSpec& spec) { spec.stored = Stored::kOneLess; }

std::string_view passed_over(const ModelConfig& config, std::string_view tensor) {
  if (tensor.starts_with("model.visual.")) return "vision tower";
  constexpr std::string_view kMtp = "multi-token prediction";
  if (tensor.starts_with("mtp.")) return kMtp;
  constexpr std::string_view kBlock = "blk.";  // of a GGUF file
  if (!tensor.starts_with(kBlock)) return {};
  int index = -1;
  std::from_chars(tensor.data() + kBlock.size(), tensor.data() + tensor.size(), index);
  return index >= config.n_layers() ? kMtp : std::string_view();
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
                         .write = write,
                         .translate = translate,
                         .layer_weights = layer_weights,
                         .last_norm = last_norm,
                         .passed_over = passed_over,
                         .shapes = shapes};

}  // namespace pando::model
