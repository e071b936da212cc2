// Nemotron-H.
#include <algorithm>
#include <vector>

#include "base/errors.h"
#include "base/json.h"
#include "model/config_ranges.h"
#include "model/families/experts.h"
#include "model/families/hooks.h"
#include "model/families/layer_list.h"
#include "model/families/mamba.h"
#include "model/families/routed_experts.h"

namespace pando::model {
namespace {

struct NamedKind {
  std::string_view name;  // in layers_block_type
  char letter;            // in hybrid_override_pattern, which older files have
  Mixer mixer;
  FeedForward feed_forward;
};

// The last two are older names.
constexpr NamedKind kKinds[] = {{"linear_attention", 'M', Mixer::kMamba2, FeedForward::kNone},
                                {"full_attention", '*', Mixer::kAttention, FeedForward::kNone},
                                {"mlp", '-', Mixer::kNone, FeedForward::kDense},
                                {"moe", 'E', Mixer::kNone, FeedForward::kExperts},
                                {"mamba", 'M', Mixer::kMamba2, FeedForward::kNone},
                                {"attention", '*', Mixer::kAttention, FeedForward::kNone}};
constexpr const char *kTypes = "layers_block_type", *kOtherTypes = "layer_types",
                     *kPattern = "hybrid_override_pattern",
                     *kSharedWidth = "moe_shared_expert_intermediate_size",
                     *kLatent = "moe_latent_size", *kActivation = "relu2";
constexpr MambaNames kMamba = {.conv_taps = "conv_kernel",
                               .n_groups = "n_groups",
                               .state_dim = "ssm_state_size",
                               .n_heads = "mamba_num_heads",
                               .head_dim = "mamba_head_dim",
                               .conv_bias = "use_conv_bias"};
LayerConfig layer_of(char letter) {
  const auto kind = std::ranges::find(kKinds, letter, &NamedKind::letter);
  LayerConfig layer;
  layer.mixer = kind->mixer;
  layer.feed_forward = kind->feed_forward;
  return layer;
}

std::string_view kind_name(const LayerConfig& layer) {
  return std::ranges::find_if(kKinds,
                              [&](const NamedKind& kind) {
                                return kind.mixer == layer.mixer &&
                                       kind.feed_forward == layer.feed_forward;
                              })
      ->name;
}

std::vector<LayerConfig> layers_of(std::string_view pattern) {
  std::vector<LayerConfig> layers;
  for (const char letter : pattern) layers.push_back(layer_of(letter));
  return layers;
}

// Reads the kinds of layers from a list of names or, if there is none, from a letter for each
// layer. Empty after an error.
std::vector<LayerConfig> read_kinds(Fields& fields) {
  const char* const field = fields.has(kTypes)        ? kTypes
                            : fields.has(kOtherTypes) ? kOtherTypes
                                                      : kPattern;
  if (fields.has(kTypes) && fields.has(kOtherTypes) && fields[kTypes] != fields[kOtherTypes])
    fields.refuse(kOtherTypes, fmt::format("the value of '{}'", kTypes));
  std::string pattern;
  if (field == kPattern) {
    pattern = fields.string(kPattern, "");
    constexpr std::string_view kLetters = "M*-E";
    if (pattern.empty() || pattern.find_first_not_of(kLetters) != pattern.npos)
      fields.refuse(kPattern, "a string of the letters M, *, - and E, one for each layer");
  } else {
    std::vector<std::string_view> words;
    for (const NamedKind& kind : kKinds) words.push_back(kind.name);
    const Json& list = *fields.find(field);
    if (!is_layer_list(fields, field, list.is_array() ? list.size() : 0, words)) return {};
    for (const Json& word : list)
      pattern += std::ranges::find(kKinds, word.get<std::string>(), &NamedKind::name)->letter;
  }
  if (pattern.empty() || !kLayerCounts.contains(std::ssize(pattern)))
    fields.refuse(field, fmt::format("one entry for each layer, {} to {} in all", kLayerCounts.min,
                                     kLayerCounts.max));
  constexpr const char* kCount = "num_hidden_layers";
  if (fields.has(kCount) && fields.status() &&
      fields.integer(kCount, kLayerCounts) != std::ssize(pattern))
    fields.refuse(kCount,
                  fmt::format("{}, the number of layers that '{}' names", pattern.size(), field));
  return fields.status() ? layers_of(pattern) : std::vector<LayerConfig>();
}

// Refuses fields with values that are not supported.
void refuse_others(Fields& fields) {
  const std::pair<const char*, const char*> activations[] = {{"mlp_hidden_act", kActivation},
                                                             {"mamba_hidden_act", "silu"}};
  for (const auto& [name, only] : activations)
    if (fields.string(name, only) != only)
      fields.refuse(name, fmt::format("\"{}\"", only), ErrorCode::kUnsupported);
  for (const char* name : {"use_bias", "mamba_proj_bias", "use_sliding_window"})
    if (fields.boolean(name, false)) fields.refuse(name, "false", ErrorCode::kUnsupported);
  for (const char* name : {kLatent, "sliding_window"})
    if (fields.has(name)) fields.refuse(name, "null", ErrorCode::kUnsupported);
  // The library raises the time steps of prompts to this.
  constexpr const char* kLeastStep = "time_step_min";
  constexpr double kUsualStep = 1e-3;
  if (fields.has(kLeastStep) && !(fields.positive(kLeastStep) <= kUsualStep))
    fields.refuse(kLeastStep, fmt::format("at most {}", kUsualStep), ErrorCode::kUnsupported);
  refuse_time_limits(fields);
}

void read_mixtures(Fields& fields, ModelConfig& config) {
  if (!config.has(FeedForward::kExperts)) return;
  ExpertsConfig& e = config.experts;
  const auto size = [&](const char* name, int64_t most) {
    return static_cast<int>(fields.integer(name, 1, most));
  };
  e.n_experts = size("n_routed_experts", kMaxExperts);
  e.n_used = size("num_experts_per_tok", kMaxUsedExperts);
  e.d_ff = size("moe_intermediate_size", kMaxWidth);
  e.shared_d_ff = size(kSharedWidth, kMaxWidth);
  e.weight_scale = static_cast<float>(fields.positive("routed_scaling_factor"));
  if (fields.integer("n_shared_experts", 0, kMaxExperts, 1) != 1)
    fields.refuse("n_shared_experts", "1", ErrorCode::kUnsupported);
  read_sigmoid_choice(fields, config);
}

}  // namespace

void read_nemotron_h(Fields& fields, ModelConfig& config) {
  const std::vector<LayerConfig> layers = read_kinds(fields);
  if (layers.empty()) return;
  constexpr const char* kOlderHeadDim = "attention_head_dim";
  const int usual_head_dim = static_cast<int>(fields.integer(kOlderHeadDim, kHeadSizes, 128));
  DecoderFields decoder = config.family->decoder;
  decoder.n_layers = static_cast<int>(layers.size());
  decoder.head_dim = usual_head_dim;
  read_usual(fields, decoder, config);
  config.layers = layers;
  config.rotations = {{.rotary_share = 0.0}};
  if (fields.has(kOlderHeadDim) && usual_head_dim != config.head_dim)
    fields.refuse(kOlderHeadDim, fmt::format("{}, the value of 'head_dim'", config.head_dim));
  refuse_others(fields);
  if (config.n_recurrent_layers() > 0) read_mamba(fields, kMamba, config);
  read_mixtures(fields, config);
}

void write_nemotron_h(const ModelConfig& config, ordered_json& object) {
  write_usual(config, object);
  object.erase("hidden_act");
  object["mlp_hidden_act"] = kActivation;
  object[kTypes] = Json::array();
  for (const LayerConfig& layer : config.layers) object[kTypes].push_back(kind_name(layer));
  write_mamba(kMamba, config, object);
  if (config.experts.n_experts == 0) return;
  write_routed_experts(config, object);
  object.erase("first_k_dense_replace");
  object["n_shared_experts"] = 1;
  object[kSharedWidth] = config.experts.shared_d_ff;
}

namespace {

// The one value of all layers whose value is not 0; 0 after an error.
int64_t only_value(GgufTranslator& gguf, const char* name, std::span<const int64_t> values) {
  const int64_t most = values.empty() ? 0 : *std::ranges::max_element(values);
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != 0 && values[i] != most) {
      GgufFields& fields = gguf.fields();
      fields.fail(
          in_file(fields.source(), unsupported("'{}' is {}, expected 0 or {}",
                                               place_in(fields.key(name), i), values[i], most)));
      return 0;
    }
  return most;
}

// A layer with heads of keys and values is attention, one with a width is a feed-forward, and one
// with neither is Mamba2. In a file with experts, all feed-forwards are mixtures.
void translate_kinds(GgufTranslator& gguf, bool has_experts) {
  constexpr const char *kKvHeads = "attention.head_count_kv", *kWidth = "feed_forward_length";
  Json& config = gguf.config();
  const std::vector<int64_t> kv_heads = gguf.by_layer(kKvHeads), widths = gguf.by_layer(kWidth);
  const int64_t n_kv_heads = only_value(gguf, kKvHeads, kv_heads);
  const int64_t width = only_value(gguf, kWidth, widths);
  gguf.multi_token_blocks();
  if (!gguf.fields().status()) return;
  config["num_key_value_heads"] = n_kv_heads;
  if (width > 0) config["intermediate_size"] = width;
  gguf.fields().comes_from_key("num_key_value_heads", kKvHeads);
  gguf.fields().comes_from_key("intermediate_size", kWidth);
  std::string pattern;
  for (int64_t i = 0; i < config["num_hidden_layers"].get<int64_t>(); ++i)
    pattern += widths[i] > 0 ? (has_experts ? 'E' : '-') : kv_heads[i] > 0 ? '*' : 'M';
  config[kPattern] = pattern;
  gguf.fields().comes_from(kPattern, fmt::format("'{}' and '{}'", gguf.fields().key(kKvHeads),
                                                 gguf.fields().key(kWidth)));
}

}  // namespace

void translate_nemotron_h(GgufTranslator& gguf) {
  GgufFields& fields = gguf.fields();
  constexpr const char* kRmsEps = "attention.layer_norm_rms_epsilon";
  gguf.differ_by_layer();
  gguf.decoder(fields.has(kRmsEps) ? kRmsEps : "attention.layer_norm_epsilon");
  gguf.same(gguf.family().decoder.rms_eps_name, "rms_norm_eps");
  gguf.no_window();
  if (!fields.status()) return;
  const bool has_experts = fields.integer("expert_count").value_or(0) > 0;
  translate_kinds(gguf, has_experts);
  translate_mamba(gguf, kMamba);
  if (fields.integer(kLatent).value_or(0) != 0)
    fields.refuse(kLatent, "0", ErrorCode::kUnsupported);
  if (!has_experts) return;
  translate_routed(gguf, {.says_sigmoids = true});
  gguf.integer("expert_shared_feed_forward_length", kSharedWidth);
}

namespace {

void add_mixture(LayerSpecs& specs, const ModelConfig& c, int layer) {
  const ExpertsConfig& e = c.experts;
  const auto of_one = [&](const char* part) {
    return layer_weight_name(layer, fmt::format("mixer.experts.{{}}.{}_proj.weight", part));
  };
  specs.router();
  specs
      .add("mixer.experts.up_proj", "ffn_up_exps.weight", {e.n_experts, e.d_ff, c.d_model},
           Role::kExpertGateUp)
      .expert_parts = {{of_one("up"), e.d_ff}};
  specs
      .add("mixer.experts.down_proj", "ffn_down_exps.weight", {e.n_experts, c.d_model, e.d_ff},
           Role::kExpertDown)
      .expert_parts = {{of_one("down"), c.d_model}};
  specs.gate_and_up("mixer.shared_experts");
  specs.down("mixer.shared_experts");
}

}  // namespace

std::vector<WeightSpec> nemotron_h_layer(const ModelConfig& c, int layer) {
  LayerSpecs specs(c, layer);
  const auto& [mixer, feed_forward] =
      std::pair(c.layers[layer].mixer, c.layers[layer].feed_forward);
  specs.norm("norm", "attn_norm",
             mixer == Mixer::kNone ? Role::kFeedForwardNorm : Role::kAttentionNorm);
  if (mixer == Mixer::kMamba2) add_mamba(specs, c, "mixer");
  if (mixer == Mixer::kAttention) {
    specs.queries_keys_values("mixer");
    specs.output("mixer.o_proj");
  }
  if (feed_forward == FeedForward::kExperts) add_mixture(specs, c, layer);
  if (feed_forward == FeedForward::kDense) {
    specs.gate_and_up("mixer");
    specs.down("mixer");
  }
  return specs.take();
}

std::string_view nemotron_h_multi_token(const ModelConfig& config, std::string_view tensor) {
  return tensor.starts_with("mtp.") ? kMultiToken : multi_token_layer(config, tensor);
}

}  // namespace pando::model
