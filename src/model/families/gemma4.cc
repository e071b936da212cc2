// Gemma 4, text: layers that see all have heads of their own; the last layers read the keys and
// values of earlier ones; values have a norm too; layers have inputs of each token, or a mixture of
// experts beside their feed-forward.
#include "model/families/gemma4.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/errors.h"
#include "model/families/decoder_fields.h"
#include "model/families/experts.h"
#include "model/families/gemma.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/typed_rotations.h"
#include "model/families/windows.h"

namespace pando::model {
namespace {

using namespace gemma4;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view kOwnOffers[] = {kLogitCap, kSlidingBase, kSlidingRotated};
constexpr auto kOffers = joined(kOwnOffers, kExpertOffers);
constexpr double kFullTheta = 1e6;
constexpr RopeFields kFullRotation = {
    .partial = true, .theta = kFullTheta, .layer_type = kFullAttention};
// Published files leave out what the library takes anyway.
constexpr const char* kAbsent =
    R"({"vocab_size": 262144, "hidden_size": 2304, "intermediate_size": 9216,
        "num_hidden_layers": 30, "num_attention_heads": 8, "num_key_value_heads": 4,
        "max_position_embeddings": 131072,
        "rope_parameters": {
          "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25,
                             "rope_theta": 1000000.0},
          "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}})";

void fix(ModelConfig& config) {
  config.qk_norm = QkNorm::kPerHead;
  config.value_norm = true;
  config.activation = Activation::kGeluTanh;
  config.attention_scale = 1.0f;
  config.experts.renormalised = true;
}

bool sees_all(const LayerConfig& layer) { return layer.window == 0; }

void set_heads(const Heads& heads, const ModelConfig& config, LayerConfig& layer) {
  layer.n_kv_heads = heads.n_kv == config.n_kv_heads ? 0 : heads.n_kv;
  layer.head_dim = heads.head_dim == config.head_dim ? 0 : heads.head_dim;
}

// {"5": {"head_dim": 512}}: what single layers have in place of the model's.
void read_heads_of_layers(Fields& fields, const json& layers, ModelConfig& config) {
  if (!layers.is_object()) return fields.refuse(kPerLayer, "an object");
  for (const auto& [name, own] : layers.items()) {
    const std::string place = fmt::format("{}.{}", kPerLayer, name);
    size_t index = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
    if (error != std::errc() || end != name.data() + name.size() || index >= config.layers.size())
      return fields.refuse(
          kPerLayer, fmt::format("layers from 0 to {} for '{}'", config.n_layers() - 1, name));
    if (!own.is_object()) return fields.fail(place, own, "an object");
    Fields entry(own, fmt::format("{}: '{}'", fields.source(), place));
    LayerConfig& layer = config.layers[index];
    set_heads(
        {.n_kv = static_cast<int>(
             entry.integer("num_key_value_heads", 1, kMaxWidth, config.n_kv_heads)),
         .head_dim = static_cast<int>(entry.integer("head_dim", 1, kMaxWidth, config.head_dim))},
        config, layer);
    for (const auto& [field, value] : own.items())
      if (field != "num_key_value_heads" && field != "head_dim")
        entry.refuse(field, "num_key_value_heads or head_dim", ErrorCode::kUnsupported);
    fields.fail(entry.status());
  }
}

// All layers that see all have the same heads, and all others the model's.
void check_heads(Fields& fields, bool keys_as_values, const ModelConfig& config) {
  const Heads global = config.heads(config.n_layers() - 1);  // it sees all
  for (int i = 0; i < config.n_layers(); ++i) {
    const Heads expected = sees_all(config.layers[i])
                               ? global
                               : Heads{config.n_heads, config.n_kv_heads, config.head_dim};
    if (config.heads(i) != expected)
      fields.refuse(kPerLayer,
                    fmt::format("the same heads in layer {} as in the other layers of its type", i),
                    ErrorCode::kUnsupported);
  }
  if (!keys_as_values && global.n_kv != config.n_kv_heads)
    fields.refuse(kPerLayer,
                  fmt::format("the model's {} heads of keys and values in all layers, without {}",
                              config.n_kv_heads, kKeysAsValues),
                  ErrorCode::kUnsupported);
}

void read_heads(Fields& fields, ModelConfig& config) {
  const bool keys_as_values = fields.boolean(kKeysAsValues, false);
  if (const json* layers = fields.find(kPerLayer); layers != nullptr) {
    read_heads_of_layers(fields, *layers, config);
    check_heads(fields, keys_as_values, config);
  } else {
    const int64_t dim = fields.integer(kGlobalDim, 1, kMaxWidth, 512);
    const int64_t n = keys_as_values ? fields.integer(kGlobalHeads, 1, kMaxWidth, config.n_kv_heads)
                                     : config.n_kv_heads;
    for (LayerConfig& layer : config.layers)
      if (sees_all(layer))
        set_heads({.n_kv = static_cast<int>(n), .head_dim = static_cast<int>(dim)}, config, layer);
  }
  for (LayerConfig& layer : config.layers)
    layer.values_are_keys = keys_as_values && sees_all(layer);
}

// The last layers read the keys and values of the last layer of their type before them.
void share_keys(int n_shared, bool double_wide, ModelConfig& config) {
  const int first = config.n_layers() - n_shared;
  for (int i = first; i < config.n_layers(); ++i) {
    LayerConfig& layer = config.layers[i];
    for (int from = 0; from < first; ++from)
      if (sees_all(config.layers[from]) == sees_all(layer)) layer.keys_back = i - from;
    if (double_wide) layer.d_ff = 2 * config.d_ff;
  }
}

void read_shared(Fields& fields, ModelConfig& config) {
  const auto n_shared = static_cast<int>(fields.integer(kShared, 0, config.n_layers() - 1, 0));
  share_keys(n_shared, fields.boolean(kDoubleWide, false), config);
  for (int i = config.n_layers() - n_shared; i < config.n_layers(); ++i)
    if (config.layers[i].keys_back == 0)
      return fields.refuse(kShared, fmt::format("fewer: layer {} reads the keys of an earlier "
                                                "layer of its type, and no such layer has any",
                                                i));
}

// Null: none.
void read_inputs(Fields& fields, ModelConfig& config) {
  const bool is_null = fields.contains(kInputDim) && !fields.has(kInputDim);
  config.layer_input_dim =
      static_cast<int>(fields.integer(kInputDim, 0, kMaxWidth, is_null ? 0 : 256));
  if (config.layer_input_dim > 0)
    config.layer_input_vocab = static_cast<int>(fields.integer(kInputVocab, 1, kMaxVocab, 262144));
}

// The feed-forward is then the shared expert.
void read_mixture(Fields& fields, ModelConfig& config) {
  if (!fields.boolean(kMixture, false)) return;
  read_experts(fields, kExperts, config);
  if (config.experts.n_experts == 0) fields.refuse(kExperts.count_name, "at least 1");
  config.experts.shared_d_ff = config.d_ff;
  if (std::ranges::any_of(config.layers, [](const LayerConfig& layer) { return layer.d_ff > 0; }))
    fields.refuse(kDoubleWide, "false in a model with experts", ErrorCode::kUnsupported);
}

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields,
               {.head_dim = 256,
                .activation = kGemmaActivation,
                .tied = true,
                .attention_bias = true,
                .rope = kFullRotation},
               config);
  read_mixed_windows(fields, /*absent=*/512, kInterval, config);
  config.layers.back().window = 0;  // as in the library, whatever the file says
  read_heads(fields, config);
  read_typed_rotations(fields, {.theta = kSlidingTheta}, config);
  config.rotations[0] =
      read_rope_of(fields, kFullAttention, kFullRotation,
                   config.heads(config.n_layers() - 1).head_dim, config.max_positions);
  read_shared(fields, config);
  read_mixture(fields, config);
  read_inputs(fields, config);
  if (fields.has(kLogitCap)) config.logit_cap = static_cast<float>(fields.positive(kLogitCap));
  scale_embeddings(config);
}

void write(const ModelConfig& config, ordered_json& object) {
  object.erase("hidden_act");
  object["hidden_activation"] = kGemmaActivation;
  write_typed_rotations(config, object);
  write_mixed_windows(config, object);
  for (int i = config.n_layers() - 1; i >= 0; --i) {
    if (!sees_all(config.layers[i])) continue;
    object[kGlobalDim] = config.heads(i).head_dim;
    object[kGlobalHeads] = config.heads(i).n_kv;
    object[kKeysAsValues] = config.layers[i].values_are_keys;
  }
  object[kShared] = std::ranges::count_if(
      config.layers, [](const LayerConfig& layer) { return layer.keys_back > 0; });
  object[kDoubleWide] = config.layers.back().d_ff > 0;
  object[kInputDim] = config.layer_input_dim;
  if (config.layer_input_dim > 0) object[kInputVocab] = config.layer_input_vocab;
  object[kMixture] = config.experts.n_experts > 0;
  if (config.experts.n_experts > 0) write_experts(config, kExperts, object);
  object[kLogitCap] = config.logit_cap == 0.0f
                          ? ordered_json(nullptr)
                          : ordered_json::parse(fmt::format("{}", config.logit_cap));
}

// GGUF files call it the same in mixtures.
void add_feed_forward(LayerSpecs& specs, int64_t d_ff, int64_t d_model) {
  specs.add("mlp.gate_proj.weight", "ffn_gate.weight", {d_ff, d_model}, &LayerWeights::gate_up);
  specs.add("mlp.up_proj.weight", "ffn_up.weight", {d_ff, d_model}, &LayerWeights::gate_up);
  specs.add("mlp.down_proj.weight", "ffn_down.weight", {d_model, d_ff}, &LayerWeights::down);
}

void add_mixture(LayerSpecs& specs, const ModelConfig& config) {
  const int64_t n_experts = config.experts.n_experts;
  specs.norm("post_feedforward_layernorm_1", "post_ffw_norm_1", &LayerWeights::shared_sum_norm);
  specs.add("router.scale", "ffn_gate_inp.scale", {config.d_model}, &LayerWeights::router_norm);
  specs.router("router.proj");
  specs.add("router.per_expert_scale", "ffn_down_exps.scale", {n_experts},
            &LayerWeights::expert_scale);
  specs.norm("pre_feedforward_layernorm_2", "pre_ffw_norm_2", &LayerWeights::experts_norm);
  specs.experts(
      {.gate_up = "experts.gate_up_proj", .down = "experts.down_proj", .module = nullptr});
  specs.norm("post_feedforward_layernorm_2", "post_ffw_norm_2", &LayerWeights::experts_sum_norm);
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  LayerSpecs specs(config, layer);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  specs.queries_keys_values();
  specs.query_key_norms();
  specs.output();
  specs.norm("post_attention_layernorm", "post_attention_norm", &LayerWeights::attention_sum_norm);
  specs.norm("pre_feedforward_layernorm", "ffn_norm", &LayerWeights::feed_forward_norm);
  add_feed_forward(specs, config.d_ff_of(layer), config.d_model);
  if (config.layers[layer].feed_forward == FeedForward::kExperts) add_mixture(specs, config);
  specs.norm("post_feedforward_layernorm", "post_ffw_norm", &LayerWeights::feed_forward_sum_norm);
  if (const int64_t n = config.layer_input_dim; n > 0) {
    specs.add("per_layer_input_gate.weight", "inp_gate.weight", {n, config.d_model},
              &LayerWeights::input_gate);
    specs.add("per_layer_projection.weight", "proj.weight", {config.d_model, n},
              &LayerWeights::input_projection);
    specs.norm("post_per_layer_input_norm", "post_norm", &LayerWeights::input_sum_norm);
  }
  specs.add("layer_scalar", "layer_output_scale.weight", {1}, &LayerWeights::scale);
  return specs.take();
}

// Whether a tensor is of the keys or values of a layer that reads another's. Names are those of a
// checkpoint or of a GGUF file.
bool is_unread(const ModelConfig& config, std::string_view tensor) {
  constexpr std::string_view kCheckpoint = "model.layers.", kGguf = "blk.";
  const bool is_gguf = tensor.starts_with(kGguf);
  if (!is_gguf && !tensor.starts_with(kCheckpoint)) return false;
  tensor.remove_prefix(is_gguf ? kGguf.size() : kCheckpoint.size());
  size_t layer = 0;
  const auto [end, error] = std::from_chars(tensor.data(), tensor.data() + tensor.size(), layer);
  if (error != std::errc() || layer >= config.layers.size() || config.layers[layer].keys_back == 0)
    return false;
  tensor.remove_prefix(static_cast<size_t>(end - tensor.data()));
  for (const std::string_view part :
       {".self_attn.k_proj.", ".self_attn.v_proj.", ".self_attn.k_norm.", ".attn_k.", ".attn_v.",
        ".attn_k_norm."})
    if (tensor.starts_with(part)) return true;
  return false;
}

std::string_view passed_over(const ModelConfig& config, std::string_view tensor) {
  if (is_unread(config, tensor)) return "keys of layers that read those of others";
  for (const auto& [root, part] :
       {std::pair<std::string_view, std::string_view>{"model.audio_tower.", "audio tower"},
        {"model.embed_vision.", "projector of images"},
        {"model.embed_audio.", "projector of sounds"}})
    if (tensor.starts_with(root)) return part;
  return {};
}

// Of layers that see all: of their channels a quarter rotates.
struct Global {
  int n_kv_heads, head_dim;
  bool values_are_keys;
};

// The windows are set already.
void set_layers(const Global& global, ModelConfig& config) {
  config.rotations = {{.type = RopeType::kProportional, .theta = kFullTheta, .rotary_share = 0.25},
                      {.theta = kSlidingTheta}};
  set_typed_rotations(config);
  for (LayerConfig& layer : config.layers) {
    if (!sees_all(layer)) continue;
    set_heads({.n_kv = global.n_kv_heads, .head_dim = global.head_dim}, config, layer);
    layer.values_are_keys = global.values_are_keys;
  }
  scale_embeddings(config);
}

ModelConfig published(const Sizes& sizes) {
  ModelConfig config = shape_of(kGemma4, sizes);
  config.rms_eps = 1e-6f;
  config.max_positions = 131072;
  config.tied_embeddings = true;
  config.bos_id = 2;
  config.eos_ids = {1, 106};
  config.logit_cap = 30.0f;
  return config;
}

ModelConfig gemma4_e2b() {
  ModelConfig config = published({.vocab = 262144,
                                  .d_model = 1536,
                                  .n_layers = 35,
                                  .n_heads = 8,
                                  .n_kv_heads = 1,
                                  .d_ff = 6144,
                                  .head_dim = 256});
  set_windows(512, /*interval=*/5, config);
  set_layers({.n_kv_heads = 1, .head_dim = 512, .values_are_keys = false}, config);
  share_keys(20, /*double_wide=*/true, config);
  config.layer_input_dim = 256;
  config.layer_input_vocab = 262144;
  return config;
}

ModelConfig gemma4_e4b() {
  ModelConfig config = published({.vocab = 262144,
                                  .d_model = 2560,
                                  .n_layers = 42,
                                  .n_heads = 8,
                                  .n_kv_heads = 2,
                                  .d_ff = 10240,
                                  .head_dim = 256});
  set_windows(512, kInterval, config);
  set_layers({.n_kv_heads = 2, .head_dim = 512, .values_are_keys = false}, config);
  share_keys(18, /*double_wide=*/false, config);
  config.layer_input_dim = 256;
  config.layer_input_vocab = 262144;
  return config;
}

ModelConfig gemma4_31b() {
  ModelConfig config = published({.vocab = 262144,
                                  .d_model = 5376,
                                  .n_layers = 60,
                                  .n_heads = 32,
                                  .n_kv_heads = 16,
                                  .d_ff = 21504,
                                  .head_dim = 256});
  config.max_positions = 262144;
  set_windows(1024, kInterval, config);
  set_layers({.n_kv_heads = 4, .head_dim = 512, .values_are_keys = true}, config);
  return config;
}

// The feed-forward stays, as the shared expert.
void set_mixture(int n_experts, int n_used, int d_ff, ModelConfig& config) {
  set_experts(config, n_experts, n_used, d_ff);
  config.experts.shared_d_ff = config.d_ff;
}

ModelConfig gemma4_26b_a4b() {
  ModelConfig config = published({.vocab = 262144,
                                  .d_model = 2816,
                                  .n_layers = 30,
                                  .n_heads = 16,
                                  .n_kv_heads = 8,
                                  .d_ff = 2112,
                                  .head_dim = 256});
  config.max_positions = 262144;
  set_windows(1024, kInterval, config);
  set_layers({.n_kv_heads = 2, .head_dim = 512, .values_are_keys = true}, config);
  set_mixture(128, 8, 704, config);
  return config;
}

// Three layers with keys of their own, and two that read them.
ModelConfig tiny_gemma4() {
  ModelConfig config =
      tiny_shape(kGemma4, {.n_layers = 5, .head_dim = 16, .d_ff = 152, .tied = false});
  config.logit_cap = 4.0f;
  for (const int i : {0, 2, 3}) config.layers[i].window = 24;
  set_layers({.n_kv_heads = 4, .head_dim = 32, .values_are_keys = true}, config);
  share_keys(2, /*double_wide=*/true, config);
  config.layer_input_dim = 12;
  config.layer_input_vocab = 1024;
  return config;
}

// The same layers without inputs of their own, and with experts.
ModelConfig tiny_gemma4_moe() {
  ModelConfig config = tiny_gemma4();
  config.tied_embeddings = true;
  config.d_ff = 72;
  for (LayerConfig& layer : config.layers) layer.d_ff = 0;
  config.layer_input_dim = config.layer_input_vocab = 0;
  set_mixture(6, 2, 40, config);
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"gemma-4-e2b", gemma4_e2b()},  {"gemma-4-e4b", gemma4_e4b()},
          {"gemma-4-31b", gemma4_31b()},  {"gemma-4-26b-a4b", gemma4_26b_a4b()},
          {"tiny-gemma4", tiny_gemma4()}, {"tiny-gemma4-moe", tiny_gemma4_moe()}};
}

}  // namespace

const Family kGemma4 = {.name = "gemma4_text",
                        .architecture = "Gemma4ForCausalLM",
                        .gguf_architecture = "gemma4",
                        .wrapper = "gemma4",
                        .offers = kOffers,
                        .absent = kAbsent,
                        .fix = fix,
                        .read = read,
                        .write = write,
                        .translate = translate_gemma4,
                        .layer_weights = layer_weights,
                        .passed_over = passed_over,
                        .shapes = shapes};

}  // namespace pando::model
