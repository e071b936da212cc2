// Gemma 4, text, without experts: layers that see all have heads of their own; the last layers read
// the keys and values of earlier ones; values have a norm too; layers have inputs of each token.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/errors.h"
#include "base/gguf.h"
#include "model/families/decoder_fields.h"
#include "model/families/gemma.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/typed_rotations.h"
#include "model/families/vision.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char *kLogitCap = "final_logit_softcapping", *kPerLayer = "per_layer_config",
                     *kGlobalDim = "global_head_dim", *kGlobalHeads = "num_global_key_value_heads",
                     *kKeysAsValues = "attention_k_eq_v", *kShared = "num_kv_shared_layers",
                     *kDoubleWide = "use_double_wide_mlp",
                     *kInputDim = "hidden_size_per_layer_input",
                     *kInputVocab = "vocab_size_per_layer_input",
                     *kSlidingRotated = "rope.dimension_count_swa";
constexpr std::string_view kOffers[] = {kLogitCap, kSlidingBase, kSlidingRotated};
constexpr int kInterval = 6;  // every sixth layer sees all, where nothing else is said
constexpr double kFullTheta = 1e6, kSlidingTheta = 1e4;
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
      fields.refuse(kPerLayer, fmt::format("for layer {} the heads of other layers of its type", i),
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
      return fields.refuse(
          kShared, fmt::format("fewer, so that a layer of the type of layer {} has keys", i));
}

// Null: none.
void read_inputs(Fields& fields, ModelConfig& config) {
  const bool is_null = fields.contains(kInputDim) && !fields.has(kInputDim);
  config.layer_input_dim =
      static_cast<int>(fields.integer(kInputDim, 0, kMaxWidth, is_null ? 0 : 256));
  if (config.layer_input_dim > 0)
    config.layer_input_vocab = static_cast<int>(fields.integer(kInputVocab, 1, kMaxVocab, 262144));
}

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields,
               {.head_dim = 256,
                .activation = kGemmaActivation,
                .tied = true,
                .attention_bias = true,
                .rope = kFullRotation},
               config);
  if (fields.boolean("enable_moe_block", false))
    fields.refuse("enable_moe_block", "false, because mixtures of experts are not supported",
                  ErrorCode::kUnsupported);
  read_mixed_windows(fields, /*absent=*/512, kInterval, config);
  config.layers.back().window = 0;  // as in the library, whatever the file says
  read_heads(fields, config);
  read_typed_rotations(fields, {.theta = kSlidingTheta}, config);
  config.rotations[0] =
      read_rope_of(fields, kFullAttention, kFullRotation,
                   config.heads(config.n_layers() - 1).head_dim, config.max_positions);
  read_shared(fields, config);
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
  object[kLogitCap] = config.logit_cap == 0.0f
                          ? ordered_json(nullptr)
                          : ordered_json::parse(fmt::format("{}", config.logit_cap));
}

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
      return fields.fail(unsupported("{}: '{}' is {}, expected {}", fields.source(),
                                     place_in(fields.key(kWidth), i), widths[i], expected));
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

void translate(GgufTranslator& gguf) {
  gguf.differ_by_layer();
  gguf.decoder();
  gguf.layer_windows(kInterval);
  gguf.attention_bias();
  GgufFields& fields = gguf.fields();
  if (!fields.status()) return;
  gguf.config().erase("hidden_act");
  fields.copy_real(kLogitCap, kLogitCap, gguf.config());
  constexpr const char* kFactors = "rope_freqs.weight";
  if (fields.file().find_tensor(kFactors) == nullptr)
    fields.fail(bad_file("{}: tensor '{}' is missing, expected factors of the rotation",
                         fields.source(), kFactors));
  translate_typed_rotations(gguf, kSlidingTheta);
  translate_heads(gguf);
  translate_feed_forward(gguf);
  translate_inputs(gguf);
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  LayerSpecs specs(config, layer);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  specs.queries_keys_values();
  specs.query_key_norms();
  specs.output();
  specs.norm("post_attention_layernorm", "post_attention_norm", &LayerWeights::attention_sum_norm);
  specs.norm("pre_feedforward_layernorm", "ffn_norm", &LayerWeights::feed_forward_norm);
  specs.gate_and_up();
  specs.down();
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
  return vision_part(config, tensor);
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

std::vector<NamedShape> shapes() {
  return {{"gemma-4-e2b", gemma4_e2b()},
          {"gemma-4-e4b", gemma4_e4b()},
          {"gemma-4-31b", gemma4_31b()},
          {"tiny-gemma4", tiny_gemma4()}};
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
                        .translate = translate,
                        .layer_weights = layer_weights,
                        .passed_over = passed_over,
                        .shapes = shapes};

}  // namespace pando::model
