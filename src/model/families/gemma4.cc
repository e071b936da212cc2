// Gemma 4, text.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/errors.h"
#include "base/gguf.h"
#include "base/json.h"
#include "model/config_ranges.h"
#include "model/families/experts.h"
#include "model/families/hooks.h"

namespace pando::model {
namespace {

using json = Json;

constexpr const char *kLogitCap = "final_logit_softcapping", *kPerLayer = "per_layer_config",
                     *kGlobalDim = "global_head_dim", *kGlobalHeads = "num_global_key_value_heads",
                     *kKeysAsValues = "attention_k_eq_v", *kShared = "num_kv_shared_layers",
                     *kDoubleWide = "use_double_wide_mlp",
                     *kInputDim = "hidden_size_per_layer_input",
                     *kInputVocab = "vocab_size_per_layer_input",
                     *kSlidingRotated = "rope.dimension_count_swa", *kMixture = "enable_moe_block";
constexpr ExpertFields kExperts = {.used_name = "top_k_experts"};
constexpr double kSlidingTheta = 1e4;

bool sees_all(const LayerConfig& layer) { return layer.window == 0; }

void set_heads(const Heads& heads, const ModelConfig& config, LayerConfig& layer) {
  layer.n_kv_heads = heads.n_kv == config.n_kv_heads ? 0 : heads.n_kv;
  layer.head_dim = heads.head_dim == config.head_dim ? 0 : heads.head_dim;
}

// Reads {"5": {"head_dim": 512}}: sizes of single layers that differ from the model's.
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

}  // namespace

void read_gemma4(Fields& fields, ModelConfig& config) {
  read_usual(fields, config);
  config.layers.back().window = 0;  // as in the library, whatever the file says
  read_heads(fields, config);
  read_typed_rotations(fields, {.theta = kSlidingTheta}, config);
  config.rotations[0] =
      read_rope_of(fields, kFullAttention, config.family->decoder.rope,
                   config.heads(config.n_layers() - 1).head_dim, config.max_positions);
  read_shared(fields, config);
  read_mixture(fields, config);
  read_inputs(fields, config);
  if (fields.has(kLogitCap)) config.logit_cap = static_cast<float>(fields.positive(kLogitCap));
}

void write_gemma4(const ModelConfig& config, ordered_json& object) {
  write_usual(config, object);
  write_typed_rotations(config, object);
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

namespace {

// The heads of layers with a window have keys of their own in the file; the others' are the usual
// ones.
void translate_heads(GgufTranslator& gguf) {
  GgufFields& fields = gguf.fields();
  json& config = gguf.config();
  const std::vector<int64_t> n_kv = gguf.by_layer("attention.head_count_kv");
  if (n_kv.empty()) return;
  const auto dim = config.value("head_dim", int64_t{0});
  const int64_t sliding_dim = fields.required_integer("attention.key_length_swa");
  for (const char* name : {"attention.value_length_swa", kSlidingRotated})
    if (fields.integer(name).value_or(sliding_dim) != sliding_dim)
      fields.refuse(name, fmt::format("the length of the keys, {}", sliding_dim),
                    ErrorCode::kUnsupported);
  config["head_dim"] = sliding_dim;
  fields.comes_from_key("head_dim", "attention.key_length_swa");
  config[kPerLayer] = json::object();
  const json& types = config["layer_types"];
  bool has_values = false, found = false;
  for (size_t i = 0; i < n_kv.size(); ++i) {
    if (types[i] == kFullAttention) {
      config[kPerLayer][std::to_string(i)] = {{"head_dim", dim}, {"num_key_value_heads", n_kv[i]}};
      if (!found)
        has_values = fields.file().find_tensor(fmt::format("blk.{}.attn_v.weight", i)) != nullptr;
      found = true;
    } else {
      config["num_key_value_heads"] = n_kv[i];
    }
  }
  config[kKeysAsValues] = found && !has_values;
}

void translate_feed_forward(GgufTranslator& gguf) {
  constexpr const char* kWidth = "feed_forward_length";
  GgufFields& fields = gguf.fields();
  json& config = gguf.config();
  if (!fields.copy_integer("attention.shared_kv_layers", kShared, config)) config[kShared] = 0;
  fields.comes_from(kPerLayer, "heads of layers");
  const std::vector<int64_t> widths = gguf.by_layer(kWidth);
  if (widths.empty()) return;
  const int64_t n_own = static_cast<int64_t>(widths.size()) - config[kShared].get<int64_t>();
  const bool double_wide = widths.back() != widths.front();
  for (size_t i = 0; i < widths.size(); ++i) {
    const bool is_double = double_wide && static_cast<int64_t>(i) >= n_own;
    const int64_t expected = widths.front() * (is_double ? 2 : 1);
    if (widths[i] != expected)
      return fields.fail(in_file(
          fields.source(), unsupported("'{}' is {}, expected {}", place_in(fields.key(kWidth), i),
                                       widths[i], expected)));
  }
  config[kDoubleWide] = double_wide;
}

void translate_inputs(GgufTranslator& gguf) {
  GgufFields& fields = gguf.fields();
  constexpr const char *kKey = "embedding_length_per_layer_input",
                       *kTable = "per_layer_token_embd.weight";
  if (!fields.copy_integer(kKey, kInputDim, gguf.config())) gguf.config()[kInputDim] = 0;
  const GgufTensor* table = fields.file().find_tensor(kTable);
  if (table != nullptr) gguf.config()[kInputVocab] = table->shape[0];
  fields.comes_from(kInputVocab, fmt::format("the number of rows of '{}'", kTable));
}

}  // namespace

void translate_gemma4(GgufTranslator& gguf) {
  gguf.differ_by_layer();
  translate_usual(gguf);
  GgufFields& fields = gguf.fields();
  if (!fields.status()) return;
  fields.copy_real(kLogitCap, kLogitCap, gguf.config());
  constexpr const char* kFactors = "rope_freqs.weight";
  if (fields.file().find_tensor(kFactors) == nullptr)
    fields.fail(
        in_file(fields.source(),
                of_tensor(kFactors, bad_file("is missing, expected factors of the rotation"))));
  translate_typed_rotations(gguf, kSlidingTheta);
  translate_heads(gguf);
  translate_feed_forward(gguf);
  translate_experts(gguf, kExperts);
  gguf.config()[kMixture] = gguf.config().value(kExperts.count_name, int64_t{0}) != 0;
  translate_inputs(gguf);
}

namespace {

void add_mixture(LayerSpecs& specs, const ModelConfig& config) {
  const int64_t n_experts = config.experts.n_experts;
  specs.norm("post_feedforward_layernorm_1", "post_ffw_norm_1", Role::kSharedSumNorm);
  specs.add("router.scale", "ffn_gate_inp.scale", {config.d_model}, Role::kRouterNorm);
  specs.router();
  specs.add("router.per_expert_scale", "ffn_down_exps.scale", {n_experts}, Role::kExpertScale);
  specs.norm("pre_feedforward_layernorm_2", "pre_ffw_norm_2", Role::kExpertsNorm);
  specs.experts(
      {.gate_up = "experts.gate_up_proj", .down = "experts.down_proj", .module = nullptr});
  specs.norm("post_feedforward_layernorm_2", "post_ffw_norm_2", Role::kExpertsSumNorm);
}

}  // namespace

void add_gemma4_feed_forward(LayerSpecs& specs, const ModelConfig& config, int layer) {
  const int64_t d_ff = config.d_ff_of(layer), d_model = config.d_model;
  // GGUF files call it the same in mixtures.
  specs.add("mlp.gate_proj.weight", "ffn_gate.weight", {d_ff, d_model}, Role::kGateUp);
  specs.add("mlp.up_proj.weight", "ffn_up.weight", {d_ff, d_model}, Role::kGateUp);
  specs.add("mlp.down_proj.weight", "ffn_down.weight", {d_model, d_ff}, Role::kDown);
  if (config.layers[layer].feed_forward == FeedForward::kExperts) add_mixture(specs, config);
}

std::vector<WeightSpec> gemma4_layer(const ModelConfig& config, int layer) {
  LayerSpecs specs(config, layer);
  specs.all() = usual_layer(config, layer);
  if (const int64_t n = config.layer_input_dim; n > 0) {
    specs.add("per_layer_input_gate.weight", "inp_gate.weight", {n, config.d_model},
              Role::kInputGate);
    specs.add("per_layer_projection.weight", "proj.weight", {config.d_model, n},
              Role::kInputProjection);
    specs.norm("post_per_layer_input_norm", "post_norm", Role::kInputSumNorm);
  }
  specs.add("layer_scalar", "layer_output_scale.weight", {1}, Role::kScale);
  return specs.take();
}

namespace {

// True if the tensor holds keys or values of a layer that reads those of another layer. The name is
// that of a checkpoint or of a GGUF file.
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

}  // namespace

std::string_view gemma4_passed_over(const ModelConfig& config, std::string_view tensor) {
  if (is_unread(config, tensor)) return "keys of layers that read those of others";
  for (const auto& [root, part] :
       {std::pair<std::string_view, std::string_view>{"model.audio_tower.", "audio tower"},
        {"model.embed_vision.", "projector of images"},
        {"model.embed_audio.", "projector of sounds"}})
    if (tensor.starts_with(root)) return part;
  return {};
}

}  // namespace pando::model
