#include "model/families/delta_net.h"

#include "base/counted.h"
#include "base/errors.h"
#include "base/gguf.h"
#include "model/families/decoder_fields.h"
#include "model/families/windows.h"

namespace pando::model {
namespace {

constexpr const char* kSharedWidth = "shared_expert_intermediate_size";

// Queries and gates take turns, head by head.
void add_gated_attention(LayerSpecs& specs, const ModelConfig& c) {
  const RowOrder by_head = {.groups = c.n_heads, .runs = {c.head_dim, c.head_dim}};
  for (const auto& [part, n] :
       {std::pair{'q', 2 * c.q_dim()}, {'k', c.kv_dim()}, {'v', c.kv_dim()}}) {
    const std::string name = fmt::format("self_attn.{}_proj", part);
    const std::string gguf = fmt::format("attn_{}", part);
    const RowOrder rows = part == 'q' ? by_head : RowOrder();
    WeightSpec& weight = specs.add((name + ".weight").c_str(), (gguf + ".weight").c_str(),
                                   {n, c.d_model}, &LayerWeights::qkv);
    weight.rows = weight.gguf_rows = rows;
    if (!c.qkv_bias) continue;
    WeightSpec& bias =
        specs.add((name + ".bias").c_str(), (gguf + ".bias").c_str(), {n}, &LayerWeights::qkv_bias);
    bias.rows = bias.gguf_rows = rows;
  }
  specs.query_key_norms();
  specs.output();
}

}  // namespace

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

void fix_delta_net(ModelConfig& config) {
  config.qk_norm = QkNorm::kPerHead;
  config.attention_gate = true;
}

void read_delta_net(Fields& fields, bool sections, ModelConfig& config, const char* d_ff_name) {
  read_decoder(fields,
               {.head_dim = 256,
                .d_ff_name = d_ff_name,
                .attention_bias = true,
                .rope = {.partial = true, .sections = sections, .rotary_share = 0.25}},
               config);
  refuse_sliding_window(fields, config);
  read_delta_sizes(fields, {}, config);
  if (read_mixers(fields, kDeltaMixers, config)) return;
  constexpr const char* kInterval = "full_attention_interval";
  set_interval(fields.integer(kInterval, 1, kMaxLayers, 4), Mixer::kDeltaNet, config);
  refuse_no_attention(fields, kInterval, config);
}

void write_delta_net(const ModelConfig& config, nlohmann::ordered_json& object) {
  write_delta_sizes(config, object);
  object["partial_rotary_factor"] = config.rotations[0].rotary_share;  // absent: a quarter
  write_mixers(config, kDeltaMixers, object);
}

void translate_delta_net(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
  gguf.attention_bias();
  GgufFields& fields = gguf.fields();
  nlohmann::json& config = gguf.config();
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
    return fields.fail(bad_file("{}: '{}' has {}, expected {}, one for each block", fields.source(),
                                fields.key(kRecurrent), counted((**recurrent).size(), "entries"),
                                n_blocks));
  fields.comes_from_key("layer_types", kRecurrent);
  config["layer_types"] = nlohmann::json::array();
  for (int64_t i = 0; i < n_layers; ++i)
    config["layer_types"].push_back((**recurrent)[i] != 0 ? "linear_attention" : "full_attention");
}

void read_delta_net_experts(Fields& fields, const ExpertFields& usual, ModelConfig& config) {
  read_experts(fields, usual, config);
  read_shared_expert(fields, kSharedWidth, /*absent=*/512, config);
  config.experts.shared_gate = config.experts.shared_d_ff > 0;
}

void write_delta_net_experts(const ModelConfig& config, const ExpertFields& usual,
                             nlohmann::ordered_json& object) {
  write_experts(config, usual, object);
  object[kSharedWidth] = config.experts.shared_d_ff;
}

// Where a file has no width for the shared expert, it is that of dense layers.
void translate_delta_net_experts(GgufTranslator& gguf) {
  translate_experts(gguf);
  if (!gguf.fields().status() || gguf.config()["num_experts"] == 0) return;
  if (!gguf.fields().copy_integer("expert_shared_feed_forward_length", kSharedWidth, gguf.config()))
    gguf.same(kSharedWidth, "intermediate_size");
}

std::vector<WeightSpec> delta_net_layer(const ModelConfig& config, int layer, AddDelta add_delta) {
  LayerSpecs specs(config, layer);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  if (config.layers[layer].mixer == Mixer::kDeltaNet) {
    add_delta(specs, config);
  } else {
    add_gated_attention(specs, config);
  }
  specs.norm("post_attention_layernorm", "post_attention_norm", &LayerWeights::feed_forward_norm);
  specs.feed_forward_and_shared();
  for (WeightSpec& spec : specs.all())
    for (const LayerPart part :
         {LayerPart(&LayerWeights::attention_norm), LayerPart(&LayerWeights::feed_forward_norm),
          LayerPart(&LayerWeights::q_norm), LayerPart(&LayerWeights::k_norm)})
      if (spec.part == part) spec.stored = Stored::kOneLess;
  return specs.take();
}

void last_delta_net_norm(WeightSpec& spec) { spec.stored = Stored::kOneLess; }

std::string_view delta_net_passed_over(const ModelConfig& config, std::string_view tensor) {
  if (tensor.starts_with("model.visual.")) return "vision tower";
  if (tensor.starts_with("mtp.")) return kMultiToken;
  return block_of(tensor) >= config.n_layers() ? kMultiToken : std::string_view();
}

}  // namespace pando::model
