// Nemotron-H: each layer is one mixer (Mamba2, or attention without rotation) or one feed-forward
// (dense, or a mixture of experts). Feed-forwards have no gate; their activation is the square of
// ReLU.
#include <algorithm>
#include <vector>

#include "base/errors.h"
#include "model/families/decoder_fields.h"
#include "model/families/experts.h"
#include "model/families/layer_list.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/mamba.h"
#include "model/families/routed_experts.h"
#include "model/families/shapes.h"
#include "model/gguf_translator.h"

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
                     *kPattern = "hybrid_override_pattern", *kEps = "layer_norm_epsilon",
                     *kSharedWidth = "moe_shared_expert_intermediate_size",
                     *kLatent = "moe_latent_size", *kActivation = "relu2";
constexpr MambaNames kMamba = {.conv_taps = "conv_kernel",
                               .n_groups = "n_groups",
                               .state_dim = "ssm_state_size",
                               .n_heads = "mamba_num_heads",
                               .head_dim = "mamba_head_dim",
                               .conv_bias = "use_conv_bias"};
constexpr const char* kAbsent = R"({
  "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 7688,
  "moe_shared_expert_intermediate_size": 7688, "n_group": 1, "topk_group": 1,
  "routed_scaling_factor": 1.0, "conv_kernel": 4, "n_groups": 8, "ssm_state_size": 128,
  "mamba_num_heads": 128, "mamba_head_dim": 64
})";

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

// From a list of names or, if there is none, from a letter for each layer. Empty after an error.
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
    const nlohmann::json& list = *fields.find(field);
    if (!is_layer_list(fields, field, list.is_array() ? list.size() : 0, words)) return {};
    for (const nlohmann::json& word : list)
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

void fix(ModelConfig& config) { config.activation = Activation::kSquaredRelu; }

void read(Fields& fields, ModelConfig& config) {
  const std::vector<LayerConfig> layers = read_kinds(fields);
  if (layers.empty()) return;
  constexpr const char* kOlderHeadDim = "attention_head_dim";
  const int usual_head_dim = static_cast<int>(fields.integer(kOlderHeadDim, kHeadSizes, 128));
  read_decoder(fields,
               {.n_layers = static_cast<int>(layers.size()),
                .head_dim = usual_head_dim,
                .rms_eps = 1e-5,
                .rms_eps_name = kEps},
               config);
  config.layers = layers;
  config.rotations = {{.rotary_share = 0.0}};
  if (fields.has(kOlderHeadDim) && usual_head_dim != config.head_dim)
    fields.refuse(kOlderHeadDim, fmt::format("{}, the value of 'head_dim'", config.head_dim));
  refuse_others(fields);
  if (config.n_recurrent_layers() > 0) read_mamba(fields, kMamba, config);
  read_mixtures(fields, config);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  object[kEps] = object["rms_norm_eps"];
  for (const char* name : {"rms_norm_eps", "hidden_act"}) object.erase(name);
  object["mlp_hidden_act"] = kActivation;
  object[kTypes] = nlohmann::json::array();
  for (const LayerConfig& layer : config.layers) object[kTypes].push_back(kind_name(layer));
  write_mamba(kMamba, config, object);
  write_routed_experts(config, object);
  if (config.experts.n_experts == 0) return;
  object["n_shared_experts"] = 1;
  object[kSharedWidth] = config.experts.shared_d_ff;
}

// The one value of all layers whose value is not 0; 0 after an error.
int64_t only_value(GgufTranslator& gguf, const char* name, std::span<const int64_t> values) {
  const int64_t most = values.empty() ? 0 : *std::ranges::max_element(values);
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != 0 && values[i] != most) {
      GgufFields& fields = gguf.fields();
      fields.fail(unsupported("{}: '{}' is {}, expected 0 or {}", fields.source(),
                              place_in(fields.key(name), i), values[i], most));
      return 0;
    }
  return most;
}

// A layer with heads of keys and values is attention, one with a width is a feed-forward, and one
// with neither is Mamba2. In a file with experts, all feed-forwards are mixtures.
void translate_kinds(GgufTranslator& gguf, bool has_experts) {
  constexpr const char *kKvHeads = "attention.head_count_kv", *kWidth = "feed_forward_length";
  nlohmann::json& config = gguf.config();
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

void translate(GgufTranslator& gguf) {
  GgufFields& fields = gguf.fields();
  constexpr const char* kRmsEps = "attention.layer_norm_rms_epsilon";
  gguf.differ_by_layer();
  gguf.decoder(fields.has(kRmsEps) ? kRmsEps : "attention.layer_norm_epsilon");
  gguf.same(kEps, "rms_norm_eps");
  gguf.no_window();
  if (!fields.status()) return;
  const bool has_experts = fields.integer("expert_count").value_or(0) > 0;
  translate_kinds(gguf, has_experts);
  translate_mamba(gguf, kMamba);
  if (fields.integer(kLatent).value_or(0) != 0)
    fields.refuse(kLatent, "0", ErrorCode::kUnsupported);
  if (!has_experts) return;
  translate_routed_experts(gguf);
  require_sigmoids(gguf);
  gguf.integer("expert_shared_feed_forward_length", kSharedWidth);
}

void add_mixture(LayerSpecs& specs, const ModelConfig& c, int layer) {
  const ExpertsConfig& e = c.experts;
  const auto of_one = [&](const char* part) {
    return layer_weight_name(layer, fmt::format("mixer.experts.{{}}.{}_proj.weight", part));
  };
  specs.router("mixer.gate", "mixer.gate.e_score_correction_bias");
  specs
      .add("mixer.experts.up_proj", "ffn_up_exps.weight", {e.n_experts, e.d_ff, c.d_model},
           &ExpertWeights::gate_up)
      .expert_parts = {{of_one("up"), e.d_ff}};
  specs
      .add("mixer.experts.down_proj", "ffn_down_exps.weight", {e.n_experts, c.d_model, e.d_ff},
           &ExpertWeights::down)
      .expert_parts = {{of_one("down"), c.d_model}};
  specs.gate_and_up("mixer.shared_experts");
  specs.down("mixer.shared_experts");
}

std::vector<WeightSpec> layer_weights(const ModelConfig& c, int layer) {
  LayerSpecs specs(c, layer);
  const auto& [mixer, feed_forward] =
      std::pair(c.layers[layer].mixer, c.layers[layer].feed_forward);
  specs.norm(
      "norm", "attn_norm",
      mixer == Mixer::kNone ? &LayerWeights::feed_forward_norm : &LayerWeights::attention_norm);
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

void last_norm(WeightSpec& spec) { spec.name = "model.norm_f.weight"; }

std::string_view passed_over(const ModelConfig& config, std::string_view tensor) {
  return tensor.starts_with("mtp.") ? kMultiToken : multi_token_layer(config, tensor);
}

ModelConfig nano_9b() {
  ModelConfig config = shape_of(kNemotronH, {.vocab = 131072,
                                             .d_model = 4480,
                                             .n_layers = 56,
                                             .n_heads = 40,
                                             .n_kv_heads = 8,
                                             .d_ff = 15680});
  config.layers = layers_of("M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-");
  config.rotations = {{.rotary_share = 0.0}};
  config.max_positions = 131072;
  config.bos_id = 1;
  config.eos_ids = {12};
  config.recurrent = {.conv_taps = 4,
                      .n_key_heads = 8,
                      .n_heads = 128,
                      .key_dim = 128,
                      .value_dim = 80,
                      .conv_bias = true};
  return config;
}

ModelConfig nano_30b() {
  ModelConfig config = shape_of(kNemotronH, {.vocab = 131072,
                                             .d_model = 2688,
                                             .n_layers = 52,
                                             .n_heads = 32,
                                             .n_kv_heads = 2,
                                             .d_ff = 1856});
  config.layers = layers_of("MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME");
  config.rotations = {{.rotary_share = 0.0}};
  config.max_positions = 262144;
  config.bos_id = 1;
  config.eos_ids = {2};
  config.recurrent = {.conv_taps = 4,
                      .n_key_heads = 8,
                      .n_heads = 64,
                      .key_dim = 128,
                      .value_dim = 64,
                      .conv_bias = true};
  config.experts = {.n_experts = 128,
                    .n_used = 6,
                    .d_ff = 1856,
                    .shared_d_ff = 3712,
                    .scores = RouterScores::kSigmoid,
                    .renormalised = true,
                    .weight_scale = 2.5f,
                    .choice_bias = true,
                    .n_group_best = 2};
  return config;
}

// Each layer follows one of another kind.
ModelConfig tiny_nemotron_h() {
  ModelConfig config =
      tiny_shape(kNemotronH, {.n_layers = 6, .head_dim = 16, .d_ff = 152, .tied = false});
  config.layers = layers_of("M*-M*-");
  config.rotations = {{.rotary_share = 0.0}};
  config.recurrent = {.conv_taps = 4,
                      .n_key_heads = 2,
                      .n_heads = 4,
                      .key_dim = 24,
                      .value_dim = 32,
                      .conv_bias = true};
  return config;
}

ModelConfig tiny_nemotron_h_moe() {
  ModelConfig config = tiny_nemotron_h();
  config.layers = layers_of("M*EM*E");
  config.d_ff = 28;  // as GGUF files have it: the width of experts
  config.experts = {.n_experts = 8,
                    .n_used = 3,
                    .d_ff = 28,
                    .shared_d_ff = 40,
                    .scores = RouterScores::kSigmoid,
                    .renormalised = true,
                    .weight_scale = 2.5f,
                    .choice_bias = true,
                    .n_groups = 2,
                    .n_groups_used = 1,
                    .n_group_best = 2};
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"nemotron-nano-9b-v2", nano_9b()},
          {"nemotron-3-nano-30b-a3b", nano_30b()},
          {"tiny-nemotron-h", tiny_nemotron_h()},
          {"tiny-nemotron-h-moe", tiny_nemotron_h_moe()}};
}

}  // namespace

const Family kNemotronH = {.name = "nemotron_h",
                           .architecture = "NemotronHForCausalLM",
                           .gguf_architecture = "nemotron_h",
                           .other_gguf_architecture = "nemotron_h_moe",
                           .offers = kRoutedFields,
                           .absent = kAbsent,
                           .fix = fix,
                           .read = read,
                           .write = write,
                           .translate = translate,
                           .layer_weights = layer_weights,
                           .embedding = "model.embeddings.weight",
                           .last_norm = last_norm,
                           .passed_over = passed_over,
                           .shapes = shapes};

}  // namespace pando::model
