#include "model/config.h"

#include <algorithm>

#include "base/errors.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "kernel/weight_types.h"
#include "model/checkpoint.h"
#include "model/gguf_config.h"
#include "model/rope_config.h"

namespace pando::model {
namespace {

using nlohmann::json;

// Widths stay below 2^20 and counts below these, so that sizes fit int32 and products int64.
constexpr int64_t kMaxWidth = int64_t{1} << 20;
constexpr int64_t kMaxVocab = int64_t{1} << 24;
constexpr int64_t kMaxLayers = int64_t{1} << 12;
constexpr int64_t kMaxPositions = int64_t{1} << 30;

const FamilyTraits& read_family(FieldReader& fields) {
  const auto all = families();
  const json* architectures = fields.find("architectures");
  const std::string model_type = fields.string("model_type", "");
  const auto typed = std::ranges::find(all, std::string_view(model_type), &FamilyTraits::name);
  const auto offered = [&](auto name) {
    std::vector<std::string_view> names;
    for (const FamilyTraits& traits : all) names.push_back(traits.*name);
    return fmt::format("{}", fmt::join(names, ", "));
  };
  if (!model_type.empty() && typed == all.end())
    fields.refuse("model_type", offered(&FamilyTraits::name), ErrorCode::kUnsupported);
  if (architectures == nullptr && model_type.empty())
    fields.refuse("model_type", offered(&FamilyTraits::name), ErrorCode::kUnsupported);
  if (architectures == nullptr) return typed == all.end() ? all.front() : *typed;
  const bool one =
      architectures->is_array() && architectures->size() == 1 && architectures->front().is_string();
  const std::string listed = one ? architectures->front().get<std::string>() : "";
  const auto named = std::ranges::find(all, std::string_view(listed), &FamilyTraits::architecture);
  if (named == all.end()) {
    fields.refuse("architectures", offered(&FamilyTraits::architecture), ErrorCode::kUnsupported);
    return all.front();
  }
  if (typed != all.end() && typed != named)
    fields.refuse("architectures", "the architecture of 'model_type'");
  return *named;
}

// Everything that would change the computation and is not offered.
void refuse_other_features(FieldReader& fields, const FamilyTraits& traits) {
  if (fields.boolean("mlp_bias", false))
    fields.refuse("mlp_bias", "false", ErrorCode::kUnsupported);
  if (!traits.optional_bias && fields.boolean("attention_bias", false))
    fields.refuse("attention_bias", fmt::format("false for {}", traits.name),
                  ErrorCode::kUnsupported);
  if (fields.string("hidden_act", "silu") != "silu")
    fields.refuse("hidden_act", "\"silu\"", ErrorCode::kUnsupported);
  if (fields.find("quantization_config") != nullptr)
    fields.refuse("quantization_config", "null (f32, f16 or bf16 weights)",
                  ErrorCode::kUnsupported);
}

// Which layers slide: what layer_types says, or all where it is absent.
std::vector<bool> read_layer_types(FieldReader& fields, const FamilyTraits& traits,
                                   const ModelConfig& config) {
  const json* types = fields.find("layer_types");
  if (types == nullptr && traits.window == WindowFields::kByLayer && config.sliding_window > 0) {
    const int64_t first = fields.integer("max_window_layers", 0, kMaxLayers, 28);
    std::vector<bool> windowed(config.n_layers);
    for (int i = 0; i < config.n_layers; ++i) windowed[i] = i >= first;
    return windowed;
  }
  if (types == nullptr) return {};
  std::vector<bool> windowed;
  for (const json& type : types->is_array() ? *types : json::array())
    if (type == "full_attention" || (type == "sliding_attention" && config.sliding_window > 0))
      windowed.push_back(type == "sliding_attention");
  const std::string expected =
      fmt::format("{} times \"full_attention\"{}", config.n_layers,
                  config.sliding_window > 0 ? " or \"sliding_attention\"" : "");
  if (!types->is_array() || types->size() != windowed.size() ||
      windowed.size() != static_cast<size_t>(config.n_layers))
    fields.refuse("layer_types", expected, ErrorCode::kUnsupported);
  if (traits.window == WindowFields::kAlways && config.sliding_window > 0 &&
      std::ranges::count(windowed, false) > 0)
    fields.refuse("layer_types", fmt::format("\"sliding_attention\" only for {}", traits.name),
                  ErrorCode::kUnsupported);
  if (config.sliding_window == 0) return {};
  return windowed;
}

// Sets the sliding window and the layers that have it. Null is no window; an absent field is what
// the transformers library takes for it.
void read_window(FieldReader& fields, const json& object, const FamilyTraits& traits,
                 ModelConfig& config) {
  if (traits.window == WindowFields::kNone) {
    if (fields.find("sliding_window") != nullptr)
      fields.refuse("sliding_window", fmt::format("null for {}", traits.name),
                    ErrorCode::kUnsupported);
    if (fields.boolean("use_sliding_window", false))
      fields.refuse("use_sliding_window", fmt::format("false for {}", traits.name),
                    ErrorCode::kUnsupported);
  } else if (traits.window == WindowFields::kAlways ||
             fields.boolean("use_sliding_window", false)) {
    const int fallback = object.contains("sliding_window") ? 0 : traits.sliding_window;
    config.sliding_window =
        static_cast<int>(fields.integer("sliding_window", 1, kMaxPositions, fallback));
  }
  config.windowed_layers = read_layer_types(fields, traits, config);
  if (std::ranges::count(config.windowed_layers, false) == 0) config.windowed_layers.clear();
  if (std::ranges::count(config.windowed_layers, true) == 0 && !config.windowed_layers.empty()) {
    config.sliding_window = 0;
    config.windowed_layers.clear();
  }
}

void read_special_tokens(FieldReader& fields, ModelConfig& config) {
  const int64_t last = int64_t{config.vocab} - 1;
  if (fields.find("bos_token_id") != nullptr)
    config.bos_id = static_cast<int32_t>(fields.integer("bos_token_id", 0, last));
  const json* eos = fields.find("eos_token_id");
  if (eos != nullptr && eos->is_array()) {
    for (const json& id : *eos) {
      const json one = {{"eos_token_id", id}};
      FieldReader element(one, "");
      config.eos_ids.push_back(static_cast<int32_t>(element.integer("eos_token_id", 0, last)));
      if (!element.status().ok())
        fields.refuse("eos_token_id", fmt::format("integers in [0, {}]", last));
    }
  } else if (eos != nullptr) {
    config.eos_ids = {static_cast<int32_t>(fields.integer("eos_token_id", 0, last))};
  }
}

int read_head_dim(FieldReader& fields, const FamilyTraits& traits, const ModelConfig& config) {
  int64_t fallback = traits.head_dim;
  if (fallback == 0 && config.d_model % config.n_heads == 0) {
    fallback = config.d_model / config.n_heads;
  } else if (fallback == 0 && fields.find("head_dim") == nullptr) {
    fields.refuse("num_attention_heads",
                  fmt::format("a divisor of 'hidden_size' {}, or 'head_dim'", config.d_model));
  }
  return static_cast<int>(fields.integer("head_dim", 1, kMaxWidth, std::max(fallback, int64_t{1})));
}

}  // namespace

ModelConfig ModelConfig::of_family(Family family) {
  const FamilyTraits& traits = traits_of(family);
  ModelConfig config;
  config.family = family;
  config.qk_norm = traits.qk_norm;
  config.post_norm = traits.post_norm;
  config.qkv_bias = traits.qkv_bias;
  config.fused_projections = traits.fused_projections;
  return config;
}

Result<ModelConfig> ModelConfig::load(const std::filesystem::path& directory) {
  if (is_gguf(directory)) {
    const Result<GgufFile> gguf = GgufFile::open(directory);
    if (!gguf) return gguf.error();
    return read_gguf_config(*gguf);
  }
  const std::filesystem::path path = directory / "config.json";
  Result<MappedFile> file = MappedFile::open(path);
  if (!file) return std::move(file).error();
  return parse({reinterpret_cast<const char*>(file->data()), file->size()}, path.string());
}

Result<ModelConfig> ModelConfig::parse(std::string_view text, std::string_view source) {
  const Result<json> object = parse_json_object(text, source);
  if (!object) return object.error();
  return from_json(*object, source);
}

Result<ModelConfig> ModelConfig::from_json(const json& object, std::string_view source) {
  FieldReader fields(object, source);
  const auto integer = [&](const char* name, int64_t max) {
    return static_cast<int>(fields.integer(name, 1, max));
  };
  const FamilyTraits& traits = read_family(fields);
  ModelConfig config = of_family(traits.family);
  refuse_other_features(fields, traits);
  config.vocab = integer("vocab_size", kMaxVocab);
  config.d_model = integer("hidden_size", kMaxWidth);
  config.n_layers = integer("num_hidden_layers", kMaxLayers);
  config.n_heads = integer("num_attention_heads", kMaxWidth);
  config.n_kv_heads = traits.kv_heads_as_heads && !fields.find("num_key_value_heads")
                          ? config.n_heads
                          : integer("num_key_value_heads", kMaxWidth);
  config.head_dim = read_head_dim(fields, traits, config);
  config.d_ff = integer("intermediate_size", kMaxWidth);
  config.max_positions = integer("max_position_embeddings", kMaxPositions);
  config.rms_eps = static_cast<float>(fields.positive("rms_norm_eps", traits.rms_eps));
  config.rope = read_rope(fields, traits, config.head_dim, config.max_positions, source);
  config.tied_embeddings = fields.boolean("tie_word_embeddings", false);
  if (traits.optional_bias && fields.boolean("attention_bias", false))
    config.qkv_bias = config.o_bias = true;
  read_window(fields, object, traits, config);
  read_special_tokens(fields, config);
  if (Status status = fields.status(); !status) return status.error();
  if (Status status = config.validate(source); !status) return status.error();
  return config;
}

Status ModelConfig::validate(std::string_view source) const {
  struct Size {
    const char* field;
    int64_t value, max, multiple;
  };
  const Size sizes[] = {{"vocab_size", vocab, kMaxVocab, 1},
                        {"hidden_size", d_model, kMaxWidth, 2},
                        {"num_hidden_layers", n_layers, kMaxLayers, 1},
                        {"num_attention_heads", n_heads, kMaxWidth, 1},
                        {"num_key_value_heads", n_kv_heads, kMaxWidth, 1},
                        {"head_dim", head_dim, kMaxWidth, 4},
                        {"intermediate_size", d_ff, kMaxWidth, 2},
                        {"max_position_embeddings", max_positions, kMaxPositions, 1}};
  for (const Size& size : sizes) {
    if (size.value < 1 || size.value > size.max || size.value % size.multiple != 0)
      return bad_file("{}: '{}' is {}, expected a multiple of {} in [1, {}]", source, size.field,
                      size.value, size.multiple, size.max);
  }
  if (n_heads % n_kv_heads != 0)
    return bad_file(
        "{}: 'num_attention_heads' is {}, expected a multiple of 'num_key_value_heads' {}", source,
        n_heads, n_kv_heads);
  if (int64_t{n_heads} * head_dim > kMaxWidth)
    return bad_file("{}: 'num_attention_heads' x 'head_dim' is {}, expected at most {}", source,
                    int64_t{n_heads} * head_dim, kMaxWidth);
  // A value that underflows or overflows in f32 would silently be another model.
  if (!(rms_eps > 0.0f && rms_eps < 1.0f))
    return bad_file("{}: 'rms_norm_eps' is {}, expected a number in (0, 1)", source, rms_eps);
  if (!(rope.theta >= 1.0 && rope.theta <= 1e15))
    return bad_file("{}: 'rope_theta' is {}, expected a number in [1, 1e15]", source, rope.theta);
  return {};
}

int64_t ModelConfig::n_parameters() const {
  int64_t total = 0;
  for (const WeightSpec& spec : weight_specs(*this)) {
    int64_t size = 1;
    for (const int64_t n : spec.shape) size *= n;
    total += size;
  }
  return total;
}

std::string ModelConfig::to_json(DType dtype) const {
  using nlohmann::ordered_json;
  const FamilyTraits& traits = traits_of(family);
  ordered_json object = {{"architectures", {traits.architecture}},
                         {"model_type", traits.name},
                         {"vocab_size", vocab},
                         {"hidden_size", d_model},
                         {"num_hidden_layers", n_layers},
                         {"num_attention_heads", n_heads},
                         {"num_key_value_heads", n_kv_heads},
                         {"head_dim", head_dim},
                         {"intermediate_size", d_ff},
                         {"hidden_act", "silu"},
                         {"attention_bias", o_bias},
                         // The shortest decimal that reads back as this f32.
                         {"rms_norm_eps", ordered_json::parse(fmt::format("{}", rms_eps))}};
  write_rope(rope, object);
  object["max_position_embeddings"] = max_positions;
  object["tie_word_embeddings"] = tied_embeddings;
  object["torch_dtype"] = kernel::info_of(dtype).torch;
  if (traits.window == WindowFields::kAlways)
    object["sliding_window"] =
        sliding_window == 0 ? ordered_json(nullptr) : ordered_json(sliding_window);
  if (traits.window == WindowFields::kByLayer && sliding_window > 0) {
    object["use_sliding_window"] = true;
    object["sliding_window"] = sliding_window;
    for (int i = 0; i < n_layers; ++i)
      object["layer_types"].push_back(window(i) > 0 ? "sliding_attention" : "full_attention");
  }
  object["bos_token_id"] = bos_id ? ordered_json(*bos_id) : nullptr;
  object["eos_token_id"] = eos_ids.empty()       ? ordered_json(nullptr)
                           : eos_ids.size() == 1 ? ordered_json(eos_ids.front())
                                                 : ordered_json(eos_ids);
  return object.dump(2) + "\n";
}

}  // namespace pando::model
