#include "model/config.h"

#include <algorithm>

#include "base/errors.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "model/checkpoint.h"
#include "model/gguf_config.h"

namespace pando::model {
namespace {

using nlohmann::json;

// Widths stay below 2^20 and counts below these, so that sizes fit int32 and products int64.
constexpr int64_t kMaxWidth = int64_t{1} << 20;
constexpr int64_t kMaxVocab = int64_t{1} << 24;
constexpr int64_t kMaxLayers = int64_t{1} << 12;
constexpr int64_t kMaxPositions = int64_t{1} << 30;

Family read_family(FieldReader& fields) {
  const json* architectures = fields.find("architectures");
  const std::string model_type = fields.string("model_type", "");
  std::string name = model_type == "llama"   ? "LlamaForCausalLM"
                     : model_type == "qwen3" ? "Qwen3ForCausalLM"
                                             : "";
  const char* offered = "LlamaForCausalLM (llama) or Qwen3ForCausalLM (qwen3)";
  if (!model_type.empty() && name.empty())
    fields.refuse("model_type", offered, ErrorCode::kUnsupported);
  if (architectures != nullptr) {
    const bool one = architectures->is_array() && architectures->size() == 1 &&
                     architectures->front().is_string();
    const std::string listed = one ? architectures->front().get<std::string>() : "";
    if (listed != "LlamaForCausalLM" && listed != "Qwen3ForCausalLM")
      fields.refuse("architectures", offered, ErrorCode::kUnsupported);
    if (!name.empty() && name != listed)
      fields.refuse("architectures", "the architecture of 'model_type'");
    name = listed;
  }
  if (name.empty()) fields.refuse("architectures", offered, ErrorCode::kUnsupported);
  return name == "Qwen3ForCausalLM" ? Family::kQwen3 : Family::kLlama;
}

// Rotary embeddings are described by `rope_theta` and `rope_scaling`, or, in newer files, by one
// object `rope_parameters`; some files carry both.
double read_rope_theta(FieldReader& fields, std::string_view source) {
  const double theta = fields.positive("rope_theta", 10000.0);
  double nested_theta = theta;
  for (const char* name : {"rope_parameters", "rope_scaling"}) {
    const json* rope = fields.find(name);
    if (rope == nullptr) continue;
    if (!rope->is_object()) {
      fields.refuse(name, "an object");
      continue;
    }
    FieldReader nested(*rope, fmt::format("{}: '{}'", source, name));
    const std::string type = nested.string("rope_type", nested.string("type", "default"));
    nested_theta = nested.positive("rope_theta", nested_theta);
    if (!nested.status().ok())
      fields.refuse(name, "a string 'rope_type' and a number 'rope_theta' above 0");
    if (type != "default" || nested.positive("partial_rotary_factor", 1.0) != 1.0)
      fields.refuse(name, "rope_type \"default\" over the whole head", ErrorCode::kUnsupported);
    if (fields.find("rope_theta") != nullptr && nested_theta != theta)
      fields.refuse(name, fmt::format("the rope_theta {} of the file's own field", theta));
  }
  return nested_theta;
}

// Everything that would change the computation and is not offered.
void refuse_other_features(FieldReader& fields, Family family) {
  for (const char* name : {"attention_bias", "mlp_bias"})
    if (fields.boolean(name, false)) fields.refuse(name, "false", ErrorCode::kUnsupported);
  if (fields.string("hidden_act", "silu") != "silu")
    fields.refuse("hidden_act", "\"silu\"", ErrorCode::kUnsupported);
  if (fields.find("quantization_config") != nullptr)
    fields.refuse("quantization_config", "null (f32, f16 or bf16 weights)",
                  ErrorCode::kUnsupported);
  if (fields.positive("partial_rotary_factor", 1.0) != 1.0)
    fields.refuse("partial_rotary_factor", "1", ErrorCode::kUnsupported);
  if (fields.boolean("use_sliding_window", false))
    fields.refuse("use_sliding_window", "false", ErrorCode::kUnsupported);
  if (family == Family::kLlama && fields.find("sliding_window") != nullptr)
    fields.refuse("sliding_window", "null", ErrorCode::kUnsupported);
  if (const json* types = fields.find("layer_types")) {
    const bool full =
        types->is_array() && std::all_of(types->begin(), types->end(),
                                         [](auto& type) { return type == "full_attention"; });
    if (!full) fields.refuse("layer_types", "\"full_attention\" only", ErrorCode::kUnsupported);
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

int read_head_dim(FieldReader& fields, const ModelConfig& config) {
  std::optional<int64_t> fallback;
  if (config.family == Family::kQwen3) {
    fallback = 128;  // the transformers library's
  } else if (config.d_model % config.n_heads == 0) {
    fallback = config.d_model / config.n_heads;
  } else if (fields.find("head_dim") == nullptr) {
    fields.refuse("num_attention_heads",
                  fmt::format("a divisor of 'hidden_size' {}, or 'head_dim'", config.d_model));
  }
  return static_cast<int>(fields.integer("head_dim", 1, kMaxWidth, fallback.value_or(1)));
}

}  // namespace

const char* family_name(Family family) { return family == Family::kQwen3 ? "qwen3" : "llama"; }

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
  FieldReader fields(*object, source);
  const auto integer = [&](const char* name, int64_t max) {
    return static_cast<int>(fields.integer(name, 1, max));
  };
  ModelConfig config;
  config.family = read_family(fields);
  refuse_other_features(fields, config.family);
  config.vocab = integer("vocab_size", kMaxVocab);
  config.d_model = integer("hidden_size", kMaxWidth);
  config.n_layers = integer("num_hidden_layers", kMaxLayers);
  config.n_heads = integer("num_attention_heads", kMaxWidth);
  config.n_kv_heads = config.family == Family::kLlama && !fields.find("num_key_value_heads")
                          ? config.n_heads
                          : integer("num_key_value_heads", kMaxWidth);
  config.head_dim = read_head_dim(fields, config);
  config.d_ff = integer("intermediate_size", kMaxWidth);
  config.max_positions = integer("max_position_embeddings", kMaxPositions);
  config.rms_eps = static_cast<float>(fields.positive("rms_norm_eps", 1e-6));
  config.rope_theta = read_rope_theta(fields, source);
  config.tied_embeddings = fields.boolean("tie_word_embeddings", false);
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
  if (!(rope_theta >= 1.0 && rope_theta <= 1e15))
    return bad_file("{}: 'rope_theta' is {}, expected a number in [1, 1e15]", source, rope_theta);
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
  const bool qwen3 = family == Family::kQwen3;
  const char* torch_name = dtype == DType::kBF16  ? "bfloat16"
                           : dtype == DType::kF16 ? "float16"
                                                  : "float32";
  nlohmann::ordered_json object = {
      {"architectures", {qwen3 ? "Qwen3ForCausalLM" : "LlamaForCausalLM"}},
      {"model_type", family_name(family)},
      {"vocab_size", vocab},
      {"hidden_size", d_model},
      {"num_hidden_layers", n_layers},
      {"num_attention_heads", n_heads},
      {"num_key_value_heads", n_kv_heads},
      {"head_dim", head_dim},
      {"intermediate_size", d_ff},
      {"hidden_act", "silu"},
      {"attention_bias", false},
      // The shortest decimal that reads back as this f32.
      {"rms_norm_eps", nlohmann::ordered_json::parse(fmt::format("{}", rms_eps))},
      {"rope_theta", rope_theta},
      {"rope_scaling", nullptr},
      {"max_position_embeddings", max_positions},
      {"tie_word_embeddings", tied_embeddings},
      {"torch_dtype", torch_name}};
  object["bos_token_id"] = bos_id ? nlohmann::ordered_json(*bos_id) : nullptr;
  object["eos_token_id"] = eos_ids.empty()       ? nlohmann::ordered_json(nullptr)
                           : eos_ids.size() == 1 ? nlohmann::ordered_json(eos_ids.front())
                                                 : nlohmann::ordered_json(eos_ids);
  return object.dump(2) + "\n";
}

}  // namespace pando::model
