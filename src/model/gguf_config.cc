#include "model/gguf_config.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numbers>

#include "base/errors.h"

namespace pando::model {
namespace {

using nlohmann::json;

struct Architecture {
  const char* name;        // general.architecture
  const char* model_type;  // of config.json
  const char* class_name;
};
constexpr Architecture kArchitectures[] = {{"llama", "llama", "LlamaForCausalLM"},
                                           {"qwen2", "qwen2", "Qwen2ForCausalLM"},
                                           {"qwen3", "qwen3", "Qwen3ForCausalLM"},
                                           {"phi3", "phi3", "Phi3ForCausalLM"},
                                           {"olmo2", "olmo2", "Olmo2ForCausalLM"}};

class Translator {
 public:
  Translator(const GgufFile& gguf, const Architecture& architecture)
      : gguf_(gguf), architecture_(architecture) {}

  Result<json> translate() {
    config_ = {{"architectures", {architecture_.class_name}},
               {"model_type", architecture_.model_type},
               {"hidden_act", "silu"}};
    integer("embedding_length", "hidden_size");
    integer("block_count", "num_hidden_layers");
    integer("attention.head_count", "num_attention_heads");
    integer("feed_forward_length", "intermediate_size");
    integer("context_length", "max_position_embeddings");
    if (!status_) return status_.error();
    if (!optional_integer("attention.head_count_kv", "num_key_value_heads"))
      config_["num_key_value_heads"] = config_["num_attention_heads"];
    if (!real("attention.layer_norm_rms_epsilon", "rms_norm_eps", config_))
      refuse(key("attention.layer_norm_rms_epsilon"), "a float");
    real("rope.freq_base", "rope_theta", config_);
    heads();
    rope();
    windows();
    tensors();
    special_tokens();
    if (optional_integer("expert_count", "experts") && config_["experts"] != 0)
      refuse(key("expert_count"), "0: mixtures of experts are not offered",
             ErrorCode::kUnsupported);
    config_.erase("experts");
    if (!status_) return status_.error();
    return std::move(config_);
  }

 private:
  std::string key(const char* name) const { return fmt::format("{}.{}", architecture_.name, name); }

  void refuse(std::string_view key, std::string_view expected,
              ErrorCode code = ErrorCode::kBadFile) {
    if (!status_) return;
    Error error = gguf_.wrong(key, expected);
    error.code = code;
    status_ = std::move(error);
  }

  template <class T>
  std::optional<T> keep(Result<std::optional<T>> value) {
    if (value) return std::move(*value);
    if (status_) status_ = value.error();
    return std::nullopt;
  }

  bool optional_integer(const char* name, const char* field) {
    const std::optional<int64_t> value = keep(gguf_.integer(key(name)));
    if (value) config_[field] = *value;
    return value.has_value();
  }
  void integer(const char* name, const char* field) {
    if (!optional_integer(name, field)) refuse(key(name), "a whole number");
  }
  bool real(const char* name, const char* field, json& object) {
    const std::optional<double> value = keep(gguf_.real(key(name)));
    if (value) object[field] = *value;
    return value.has_value();
  }

  void heads() {
    const int64_t d_model = config_["hidden_size"], n = config_["num_attention_heads"];
    if (!optional_integer("attention.key_length", "head_dim") && n > 0)
      config_["head_dim"] = d_model / n;
    const int64_t head_dim = config_.value("head_dim", int64_t{0});
    const auto value_length = keep(gguf_.integer(key("attention.value_length")));
    if (value_length.value_or(head_dim) != head_dim)
      refuse(key("attention.value_length"), fmt::format("that of keys, {}", head_dim),
             ErrorCode::kUnsupported);
    const auto rotated = keep(gguf_.integer(key("rope.dimension_count")));
    if (rotated && head_dim > 0 && *rotated != head_dim)
      config_["partial_rotary_factor"] =
          static_cast<double>(*rotated) / static_cast<double>(head_dim);
  }

  void rope() {
    const auto type = keep(gguf_.string(key("rope.scaling.type")));
    json scaling = json::object();
    if (type && *type != "none" && *type != "longrope") {
      scaling["rope_type"] = *type;
      if (!real("rope.scaling.factor", "factor", scaling))
        refuse(key("rope.scaling.factor"), "a float");
      const auto original = keep(gguf_.integer(key("rope.scaling.original_context_length")));
      if (original && *type != "linear") scaling["original_max_position_embeddings"] = *original;
      if (keep(gguf_.real(key("rope.scaling.attn_factor"))).value_or(1.0) != 1.0)
        refuse(key("rope.scaling.attn_factor"), "1", ErrorCode::kUnsupported);
    }
    if (gguf_.find_tensor("rope_factors_long.weight") != nullptr) {
      const std::string original = key("rope.scaling.original_context_length");
      const auto positions = keep(gguf_.integer(original));
      if (!positions) refuse(original, "a whole number");
      config_["original_max_position_embeddings"] = positions.value_or(1);
      scaling = {{"rope_type", "longrope"},
                 {"long_factor", floats("rope_factors_long.weight")},
                 {"short_factor", floats("rope_factors_short.weight")}};
      const auto attention = keep(gguf_.real(key("rope.scaling.attn_factor")));
      // Rounded to f32: left out where it is what the lengths give, in double precision.
      const double ratio = config_["max_position_embeddings"].get<double>() /
                           std::max(2.0, static_cast<double>(positions.value_or(2)));
      const double usual = std::sqrt(
          1.0 + std::log(std::max(1.0, ratio)) /
                    std::log(static_cast<double>(std::max<int64_t>(2, positions.value_or(2)))));
      if (attention && static_cast<float>(*attention) != static_cast<float>(usual))
        scaling["attention_factor"] = *attention;
    }
    if (gguf_.find_tensor("rope_freqs.weight") != nullptr) scaling = llama3_scaling();
    if (!scaling.empty()) config_["rope_scaling"] = std::move(scaling);
  }

  // Llama 3's scaling is stored as its effect, one factor for each frequency. The factors of the
  // published models are recognised, so that the frequencies are computed as from their config.json
  // and not from rounded factors.
  json llama3_scaling() {
    const std::vector<float> factors = floats("rope_freqs.weight");
    const double theta = config_.value("rope_theta", 10000.0);
    for (const double factor : {8.0, 32.0, 16.0, 4.0, 2.0})
      if (near(factors, llama3_factors(factor, theta, factors.size())))
        return {{"rope_type", "llama3"},
                {"factor", factor},
                {"low_freq_factor", kLowFactor},
                {"high_freq_factor", kHighFactor},
                {"original_max_position_embeddings", kOriginalPositions}};
    if (status_)
      status_ = unsupported("{}: tensor 'rope_freqs.weight' holds other factors than Llama 3's",
                            gguf_.file().path().string());
    return {};
  }

  // Writers compute them in f32 or in double precision.
  static bool near(const std::vector<float>& a, const std::vector<float>& b) {
    return std::ranges::equal(
        a, b, [](float x, float y) { return std::fabs(x - y) <= 1e-4f * std::fabs(y); });
  }

  static constexpr double kLowFactor = 1.0, kHighFactor = 4.0;
  static constexpr int kOriginalPositions = 8192;

  static std::vector<float> llama3_factors(double factor, double theta, size_t n) {
    std::vector<float> factors;
    for (size_t i = 0; i < n; ++i) {
      const double wavelength =
          2 * std::numbers::pi * std::pow(theta, static_cast<double>(i) / static_cast<double>(n));
      const double turns = kOriginalPositions / wavelength;
      const double smooth = std::clamp((turns - kLowFactor) / (kHighFactor - kLowFactor), 0.0, 1.0);
      factors.push_back(static_cast<float>(1.0 / ((1.0 - smooth) / factor + smooth)));
    }
    return factors;
  }

  // The elements of an f32 vector.
  std::vector<float> floats(const char* name) {
    const GgufTensor* tensor = gguf_.find_tensor(name);
    const bool good = tensor != nullptr && tensor->type == 0 && tensor->shape.size() == 1 &&
                      tensor->shape[0] <= static_cast<int64_t>(tensor->available / sizeof(float));
    if (!good) {
      if (status_)
        status_ = bad_file("{}: tensor '{}' is not a vector of F32 in the file",
                           gguf_.file().path().string(), name);
      return {};
    }
    std::vector<float> values(static_cast<size_t>(tensor->shape[0]));
    std::memcpy(values.data(), gguf_.file().data() + tensor->offset, values.size() * sizeof(float));
    return values;
  }

  void windows() {
    constexpr const char* kName = "attention.sliding_window";
    const int64_t window = keep(gguf_.integer(key(kName))).value_or(0);
    config_["sliding_window"] = nullptr;
    if (window == 0) return;
    const std::string_view name = architecture_.name;
    if (name != "llama" && name != "phi3")  // which layers have it is not said
      return refuse(key(kName), "0", ErrorCode::kUnsupported);
    config_["sliding_window"] = window;
    if (name == "llama") {  // Mistral's files are llama too
      config_["architectures"] = {"MistralForCausalLM"};
      config_["model_type"] = "mistral";
    }
  }

  // What the tensors say and the metadata does not.
  void tensors() {
    const GgufTensor* embedding = gguf_.find_tensor("token_embd.weight");
    if (embedding == nullptr || embedding->shape.size() != 2) {
      if (status_)
        status_ = bad_file("{}: has no matrix 'token_embd.weight'", gguf_.file().path().string());
      return;
    }
    config_["vocab_size"] = embedding->shape[0];
    config_["tie_word_embeddings"] = gguf_.find_tensor("output.weight") == nullptr;
    if (std::string_view(architecture_.name) != "qwen2")  // which always has it, and says nothing
      config_["attention_bias"] = gguf_.find_tensor("blk.0.attn_q.bias") != nullptr;
  }

  void special_tokens() {
    if (const auto bos = keep(gguf_.integer("tokenizer.ggml.bos_token_id")))
      config_["bos_token_id"] = *bos;
    json eos = json::array();
    for (const char* name : {"eos", "eot", "eom"})
      if (const auto id = keep(gguf_.integer(fmt::format("tokenizer.ggml.{}_token_id", name))))
        if (std::find(eos.begin(), eos.end(), *id) == eos.end()) eos.push_back(*id);
    config_["eos_token_id"] = std::move(eos);
  }

  const GgufFile& gguf_;
  const Architecture& architecture_;
  json config_;
  Status status_;
};

}  // namespace

Result<ModelConfig> read_gguf_config(const GgufFile& gguf) {
  constexpr const char* kKey = "general.architecture";
  const auto name = gguf.string(kKey);
  if (!name) return name.error();
  for (const Architecture& architecture : kArchitectures) {
    if (*name != architecture.name) continue;
    const Result<json> config = Translator(gguf, architecture).translate();
    if (!config) return config.error();
    return ModelConfig::parse(config->dump(), gguf.file().path().string());
  }
  Error error = gguf.wrong(kKey, "llama, qwen2, qwen3, phi3 or olmo2");
  if (name->has_value()) error.code = ErrorCode::kUnsupported;
  return error;
}

}  // namespace pando::model
