// The functions that the rows of rows_dense.cc point to.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/errors.h"
#include "base/gguf.h"
#include "base/json.h"
#include "model/config_ranges.h"
#include "model/families/hooks.h"
#include "model/families/windows.h"

namespace pando::model {
namespace {

using json = Json;

// SmolLM3. Rotation 1 of every model: none.
constexpr const char *kStillLayers = "no_rope_layers", *kStillInterval = "no_rope_layer_interval";

}  // namespace

// The list has a 1 for a layer that rotates, and may be longer than the model. Without it every
// n-th layer does not rotate.
void read_smollm3(Fields& fields, ModelConfig& config) {
  read_usual(fields, config);
  config.rotations.push_back({.rotary_share = 0.0});
  const json* list = fields.find(kStillLayers);
  const int64_t interval = fields.integer(kStillInterval, 1, kMaxLayers, 4);
  const int n_layers = config.n_layers();
  if (list != nullptr && (!list->is_array() || std::ssize(*list) < n_layers))
    return fields.refuse(kStillLayers,
                         fmt::format("a list with a 0 or 1 for each of {} layers", n_layers));
  for (int i = 0; i < n_layers; ++i) {
    LayerConfig& layer = config.layers[i];
    if (list == nullptr) {
      layer.rotation = (i + 1) % interval == 0 ? 1 : 0;
      continue;
    }
    const json& rotates = (*list)[i];
    if (rotates != 0 && rotates != 1)
      return fields.fail(place_in(kStillLayers, i), rotates, "0 or 1");
    layer.rotation = rotates == 0 ? 1 : 0;
  }
}

void write_smollm3(const ModelConfig& config, ordered_json& object) {
  write_usual(config, object);
  for (const LayerConfig& layer : config.layers)
    object[kStillLayers].push_back(layer.rotation == 0 ? 1 : 0);
}

// A GGUF file does not say which layers rotate: readers know that every fourth does not.
void translate_smollm3(GgufTranslator& gguf) {
  translate_usual(gguf);
  gguf.config()[kStillInterval] = 4;
}

// Ministral 3.

void read_ministral3(Fields& fields, ModelConfig& config) {
  read_usual(fields, config);
  // The library takes this where the file says nothing of rotation.
  if (!fields.has("rope_parameters") && !fields.has("rope_scaling") && !fields.has("rope_theta"))
    config.rotations = {{.type = RopeType::kYarn,
                         .theta = 1e6,
                         .factor = 16.0,
                         .original_positions = 16384,
                         .query_growth = 0.1f}};
}

void translate_ministral3(GgufTranslator& gguf) {
  constexpr const char* kGrowth = "attention.temperature_scale";
  translate_usual(gguf);
  if (!gguf.config().contains("rope_theta")) gguf.config()["rope_theta"] = 1e4;  // as readers do
  GgufFields& fields = gguf.fields();
  const double growth = fields.finite(kGrowth).value_or(0.0);
  if (growth == 0.0) return;
  json& scaling = gguf.config()["rope_scaling"];
  if (!scaling.is_object() || scaling.value("rope_type", "") != "yarn")
    return fields.refuse(kGrowth, "0 without rope.scaling.type yarn", ErrorCode::kUnsupported);
  scaling["llama_4_scaling_beta"] = growth;
  fields.comes_from_key("llama_4_scaling_beta", kGrowth);
}

// Granite 3.
void translate_granite(GgufTranslator& gguf) {
  translate_usual(gguf);
  // False: queries and keys do not rotate.
  constexpr const char* kRotates = "rope.scaling.finetuned";
  if (!gguf.fields().boolean(kRotates).value_or(true))
    gguf.fields().refuse(kRotates, "true for granite", ErrorCode::kUnsupported);
}

// ERNIE 4.5. A null says that the number follows from others; where the field is absent it is
// fixed.
void read_ernie4_5(Fields& fields, ModelConfig& config) {
  DecoderFields decoder = config.family->decoder;
  decoder.head_dim = fields.contains("head_dim") ? 0 : 128;
  decoder.kv_heads_as_heads = fields.contains("num_key_value_heads");
  read_usual(fields, decoder, config);
}

// HunYuan. A GGUF file has the stretched theta.

void stretch_theta(Fields& fields, ModelConfig& config) {
  std::optional<double> alpha;
  for (const char* name : {"rope_parameters", "rope_scaling"}) {
    const json* object = fields.find(name);
    if (object == nullptr || !object->is_object()) continue;
    Fields rope(*object, fmt::format("{}: '{}'", fields.source(), name));
    const double found = rope.positive("alpha", 1.0);
    fields.fail(rope.status());
    if (alpha && *alpha != found) fields.refuse(name, "the same alpha as in 'rope_parameters'");
    alpha = found;
  }
  const int head_dim = config.head_dim;
  config.rotations[0].theta *= std::pow(alpha.value_or(1.0), head_dim / (head_dim - 2.0));
}

void read_hunyuan(Fields& fields, ModelConfig& config) {
  constexpr const char* kExperts = "num_experts";
  read_usual(fields, config);
  stretch_theta(fields, config);
  // One expert is none.
  if (fields.integer(kExperts, 0, kMaxWidth, 1) > 1)
    fields.refuse(kExperts, "at most 1", ErrorCode::kUnsupported);
}

// OLMo 3.

void read_olmo3(Fields& fields, ModelConfig& config) {
  read_usual(fields, config);
  read_typed_rotations(fields, config.family->decoder.rope, config);
}

void write_olmo3(const ModelConfig& config, ordered_json& object) {
  write_usual(config, object);
  write_typed_rotations(config, object);
}

void translate_olmo3(GgufTranslator& gguf) {
  translate_usual(gguf);
  translate_typed_rotations(gguf, std::nullopt);
}

// EXAONE 4.

namespace {

constexpr const char* kWindow = "sliding_window";

}  // namespace

void read_exaone4(Fields& fields, ModelConfig& config) {
  const bool has_windows = fields.has(kWindow) || !fields.contains(kWindow);
  read_usual(fields, config);
  // The pattern may be letters in files that have layer_types or no window, and has no effect
  // there.
  if (has_windows && !fields.has("layer_types")) {
    WindowFields windows = config.family->windows;
    windows.says_interval = true;
    read_windows(fields, windows, config);
  }
  if (has_windows) rotate_in_windows(config);
}

void write_exaone4(const ModelConfig& config, ordered_json& object) {
  write_usual(config, object);
  // Null would mean that all layers rotate.
  if (config.rotations.size() > 1 && object[kWindow].is_null())
    object[kWindow] = config.max_positions;
}

// Cohere's Command R7B and Command A.
void read_cohere2(Fields& fields, ModelConfig& config) {
  read_usual(fields, config);
  rotate_in_windows(config);
}

// GLM-4.1V.

void read_glm4v(Fields& fields, ModelConfig& config) {
  read_usual(fields, config);
  if (config.q_dim() != config.d_model)
    fields.refuse("head_dim", "'hidden_size' / 'num_attention_heads'", ErrorCode::kUnsupported);
}

void translate_glm4v(GgufTranslator& gguf) {
  translate_usual(gguf);
  gguf.config()["attention_bias"] = true;
}

bool has_gguf_sections(const GgufFile& gguf, std::string_view architecture) {
  const auto sections = gguf.integers(fmt::format("{}.rope.dimension_sections", architecture));
  return sections.ok() && *sections &&
         std::ranges::any_of(**sections, [](int64_t n) { return n != 0; });
}

// Gemma 2 and Gemma 3.

void read_gemma2(Fields& fields, ModelConfig& config) {
  read_usual(fields, config);
  const int64_t scalar = fields.integer(kGemmaScalar, 1, kMaxWidth, 256);
  if (scalar != config.head_dim)
    config.attention_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(scalar)));
}

void write_gemma2(const ModelConfig& config, ordered_json& object) {
  write_usual(config, object);
  const double scale = config.attention_scale;
  object[kGemmaScalar] = scale == 0.0 ? config.head_dim : std::lround(1.0 / (scale * scale));
}

namespace {

// A GGUF file lacks the scalar: readers know that of the largest model, which has `largest` layers.
void translate_gemma(GgufTranslator& gguf, int largest) {
  if (!gguf.fields().status()) return;
  json& config = gguf.config();
  const int64_t d_model = config["hidden_size"], n_heads = config["num_attention_heads"];
  config[kGemmaScalar] = config["head_dim"];
  if (config["num_hidden_layers"] == largest && n_heads > 0)
    config[kGemmaScalar] = d_model / n_heads;
}

constexpr double kSlidingTheta = 1e4;

}  // namespace

void translate_gemma2(GgufTranslator& gguf) {
  translate_usual(gguf);
  translate_gemma(gguf, /*largest=*/46);
}

void read_gemma3(Fields& fields, ModelConfig& config) {
  read_gemma2(fields, config);
  const double sliding_theta = fields.real("rope_local_base_freq", kThetas, kSlidingTheta);
  read_typed_rotations(fields, {.theta = sliding_theta}, config);
}

void write_gemma3(const ModelConfig& config, ordered_json& object) {
  write_gemma2(config, object);
  write_typed_rotations(config, object);
}

void translate_gemma3(GgufTranslator& gguf) {
  translate_usual(gguf);
  translate_typed_rotations(gguf, kSlidingTheta);
  translate_gemma(gguf, /*largest=*/62);
  if (gguf_architecture_of(gguf.fields().file(), gguf.family()) == kGemmaEmbedding)
    gguf.config()["use_bidirectional_attention"] = true;
}

// StableLM. Older files have other names for two fields.

namespace {

void refuse_older_name(Fields& fields, const char* older, const char* name, double used) {
  const json* value = fields.find(older);
  if (value == nullptr) return;
  const auto number = static_cast<float>(used);
  if (!value->is_number() || value->get<float>() != number)
    fields.refuse(older, fmt::format("{}, as '{}'", number, name), ErrorCode::kUnsupported);
}

}  // namespace

void read_stablelm(Fields& fields, ModelConfig& config) {
  read_usual(fields, config);
  refuse_older_name(fields, "norm_eps", config.family->decoder.rms_eps_name, config.rms_eps);
  refuse_older_name(fields, "rope_pct", "partial_rotary_factor", config.rotations[0].rotary_share);
}

// GPT-NeoX.

namespace {

constexpr const char *kParallel = "use_parallel_residual", *kShareName = "rotary_pct",
                     *kThetaName = "rotary_emb_base";

// Refuses a value of a rotation that has another value by its other name.
void refuse_other(Fields& fields, const char* name, double value, const char* other, double used) {
  if (fields.has(name) && fields.has(other) && value != used)
    fields.refuse(name, fmt::format("{}, as '{}' says", used, other));
}

}  // namespace

void read_gpt_neox(Fields& fields, ModelConfig& config) {
  DecoderFields decoder = config.family->decoder;
  const double share =
      fields.real(kShareName, {"a number in (0, 1]", 0, 1}, decoder.rope.rotary_share);
  const double theta = fields.real(kThetaName, kThetas, decoder.rope.theta);
  decoder.rope.rotary_share = share;
  decoder.rope.theta = theta;
  read_usual(fields, decoder, config);
  refuse_other(fields, kShareName, share, "partial_rotary_factor",
               config.rotations[0].rotary_share);
  refuse_other(fields, kThetaName, theta, "rope_theta", config.rotations[0].theta);
  if (config.n_kv_heads != config.n_heads)
    fields.refuse("num_key_value_heads", fmt::format("{}, the number of heads", config.n_heads),
                  ErrorCode::kUnsupported);
  if (int64_t{config.n_heads} * config.head_dim != config.d_model)
    fields.refuse(
        "head_dim",
        fmt::format("'hidden_size' {} / 'num_attention_heads' {}", config.d_model, config.n_heads),
        ErrorCode::kUnsupported);
  config.parallel = fields.boolean(kParallel, true);
}

void write_gpt_neox(const ModelConfig& config, ordered_json& object) {
  write_usual(config, object);
  for (const char* name : {"partial_rotary_factor", "rope_theta"}) object.erase(name);
  object[kShareName] = config.rotations[0].rotary_share;
  object[kThetaName] = config.rotations[0].theta;
  object[kParallel] = config.parallel;
}

// Files do not name the kind of GELU: it is Pythia's.
void translate_gpt_neox(GgufTranslator& gguf) {
  translate_usual(gguf);
  const std::optional<bool> parallel = gguf.fields().boolean(kParallel);
  if (!parallel) gguf.fields().refuse(kParallel, "true or false");
  gguf.config()[kParallel] = parallel.value_or(true);
}

// The attention mask as older files store it.
std::string_view gpt_neox_mask(const ModelConfig&, std::string_view tensor) {
  return tensor.ends_with(".attention.bias") || tensor.ends_with(".attention.masked_bias")
             ? "attention mask"
             : "";
}

}  // namespace pando::model
