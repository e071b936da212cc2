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
    const std::optional<double> value = finite(name);
    if (value) object[field] = *value;
    return value.has_value();
  }
  std::optional<double> finite(const char* name) {
    const std::optional<double> value = keep(gguf_.real(key(name)));
    if (!value || std::isfinite(*value)) return value;
    refuse(key(name), "a finite number");
    return std::nullopt;
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
    if (head_dim > 0) rotated_channels(head_dim);
  }

  void rotated_channels(int64_t head_dim) {
    constexpr const char* kName = "rope.dimension_count";
    rotary_dim_ = keep(gguf_.integer(key(kName))).value_or(head_dim);
    if (rotary_dim_ < 2 || rotary_dim_ > head_dim || rotary_dim_ % 2 != 0)
      return refuse(key(kName),
                    fmt::format("an even number of the {} channels of a head", head_dim));
    if (rotary_dim_ == head_dim) return;
    // The next number where the quotient was rounded down: the product is cut to a whole number.
    const auto size = static_cast<double>(head_dim);
    double share = static_cast<double>(rotary_dim_) / size;
    if (static_cast<int64_t>(size * share) < rotary_dim_) share = std::nextafter(share, 1.0);
    config_["partial_rotary_factor"] = share;
  }

  // A file says its scaling in one of three ways: by type and factor, by the two lists of longrope,
  // or by Llama 3's factors. Two at once have no meaning.
  void rope() {
    refuse_other_rope_keys();
    const bool is_long = gguf_.find_tensor("rope_factors_long.weight") != nullptr ||
                         gguf_.find_tensor("rope_factors_short.weight") != nullptr;
    const bool is_llama3 = gguf_.find_tensor("rope_freqs.weight") != nullptr;
    json scaling = typed_scaling(is_long);
    if (is_long + is_llama3 + !scaling.empty() > 1 && status_)
      status_ = unsupported(
          "{}: {} and {} both scale the rotation, expected one of them",
          gguf_.file().path().string(),
          scaling.empty() ? "rope_factors_long.weight" : scaling["rope_type"].get<std::string>(),
          is_llama3 ? "rope_freqs.weight" : "rope_factors_long.weight");
    if (is_long) scaling = longrope_scaling();
    if (is_llama3) scaling = llama3_scaling();
    if (!scaling.empty()) config_["rope_scaling"] = std::move(scaling);
  }

  // What nobody reads would silently be another model.
  void refuse_other_rope_keys() {
    constexpr std::string_view kKnown[] = {"dimension_count",
                                           "freq_base",
                                           "scale_linear",
                                           "scaling.type",
                                           "scaling.factor",
                                           "scaling.attn_factor",
                                           "scaling.original_context_length",
                                           "scaling.finetuned",
                                           "scaling.yarn_beta_fast",
                                           "scaling.yarn_beta_slow",
                                           "scaling.yarn_ext_factor",
                                           "scaling.yarn_attn_factor",
                                           "scaling.yarn_log_multiplier"};
    const std::string prefix = key("rope.");
    for (const std::string_view found : gguf_.keys(prefix))
      if (std::ranges::find(kKnown, found.substr(prefix.size())) == std::end(kKnown))
        refuse(found, "no such key", ErrorCode::kUnsupported);
    for (const auto& [name, usual] : {std::pair{"rope.scaling.yarn_ext_factor", 1.0},
                                      {"rope.scaling.yarn_attn_factor", 1.0},
                                      {"rope.scaling.yarn_log_multiplier", 0.0}})
      if (finite(name).value_or(usual) != usual)
        refuse(key(name), fmt::format("{}", usual), ErrorCode::kUnsupported);
  }

  // The factor, 1 where there is none; scale_linear is its older name, and 0 means none.
  double scaling_factor() {
    const auto factor = finite("rope.scaling.factor"), older = finite("rope.scale_linear");
    if (factor && older && *factor != *older)
      refuse(key("rope.scale_linear"), fmt::format("rope.scaling.factor {}", *factor));
    const double value = factor.value_or(older.value_or(0.0));
    return value == 0.0 ? 1.0 : value;
  }

  // Of linear and yarn; empty where positions are as they are. `is_long`: tensors say the rest.
  json typed_scaling(bool is_long) {
    constexpr const char* kType = "rope.scaling.type";
    constexpr const char* kAttention = "rope.scaling.attn_factor";
    const auto stated = keep(gguf_.string(key(kType)));
    const double factor = scaling_factor();
    const std::string_view type = stated.value_or(factor == 1.0 ? "none" : "linear");
    if (type != "none" && type != "linear" && type != "yarn" && type != "longrope")
      refuse(key(kType), "none, linear, yarn or longrope", ErrorCode::kUnsupported);
    if (type == "longrope" && !is_long) refuse(key(kType), "one with rope_factors_long.weight");
    if (!is_long && finite(kAttention).value_or(1.0) != 1.0)
      refuse(key(kAttention), "1", ErrorCode::kUnsupported);
    if (type != "yarn")
      for (const char* name : {"rope.scaling.yarn_beta_fast", "rope.scaling.yarn_beta_slow"})
        if (gguf_.has(key(name)))
          refuse(key(name), "none without rope.scaling.type yarn", ErrorCode::kUnsupported);
    const bool has_factor = gguf_.has(key("rope.scaling.factor"));
    if ((type == "linear" || type == "yarn") && !has_factor && !gguf_.has(key("rope.scale_linear")))
      refuse(key("rope.scaling.factor"), "a float");
    if (type == "longrope" && factor != 1.0)
      refuse(key(has_factor ? "rope.scaling.factor" : "rope.scale_linear"), "1 with longrope",
             ErrorCode::kUnsupported);
    // "none" with a factor: scaling is switched off.
    if (type == "none" || type == "longrope" || (type == "linear" && factor == 1.0)) return {};
    json scaling = {{"rope_type", type == "yarn" ? "yarn" : "linear"}, {"factor", factor}};
    if (type != "yarn") return scaling;
    const auto original = keep(gguf_.integer(key("rope.scaling.original_context_length")));
    if (original) scaling["original_max_position_embeddings"] = *original;
    real("rope.scaling.yarn_beta_fast", "beta_fast", scaling);
    real("rope.scaling.yarn_beta_slow", "beta_slow", scaling);
    return scaling;
  }

  json longrope_scaling() {
    const std::string original = key("rope.scaling.original_context_length");
    const auto positions = keep(gguf_.integer(original));
    if (!positions) refuse(original, "a whole number");
    config_["original_max_position_embeddings"] = positions.value_or(1);
    json scaling = {{"rope_type", "longrope"},
                    {"long_factor", floats("rope_factors_long.weight")},
                    {"short_factor", floats("rope_factors_short.weight")}};
    const auto attention = finite("rope.scaling.attn_factor");
    // Rounded to f32: left out where it is what the lengths give, in double precision.
    const double least = std::max(2.0, static_cast<double>(positions.value_or(2)));
    const double ratio = config_["max_position_embeddings"].get<double>() / least;
    const double usual = std::sqrt(1.0 + std::log(std::max(1.0, ratio)) / std::log(least));
    if (attention && static_cast<float>(*attention) != static_cast<float>(usual))
      scaling["attention_factor"] = *attention;
    return scaling;
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
    const int64_t n = rotary_dim_ / 2;
    const bool good = tensor != nullptr && tensor->type == 0 && tensor->shape.size() == 1 &&
                      tensor->shape[0] == n &&
                      n <= static_cast<int64_t>(tensor->available / sizeof(float));
    if (!good) {
      const std::string found =
          tensor == nullptr
              ? "missing"
              : fmt::format("of type {} and shape [{}] with {} bytes left in the file",
                            tensor->type, fmt::join(tensor->shape, ", "), tensor->available);
      if (status_)
        status_ = bad_file("{}: tensor '{}' is {}, expected of type 0 (F32) and shape [{}]",
                           gguf_.file().path().string(), name, found, n);
      return {};
    }
    std::vector<float> values(static_cast<size_t>(n));
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
    if (const auto bos = keep(gguf_.token_id("tokenizer.ggml.bos_token_id")))
      config_["bos_token_id"] = *bos;
    json eos = json::array();
    for (const char* name : {"eos", "eot", "eom"})
      if (const auto id = keep(gguf_.token_id(fmt::format("tokenizer.ggml.{}_token_id", name))))
        if (std::find(eos.begin(), eos.end(), *id) == eos.end()) eos.push_back(*id);
    config_["eos_token_id"] = std::move(eos);
  }

  const GgufFile& gguf_;
  const Architecture& architecture_;
  json config_;
  int64_t rotary_dim_ = 0;
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
    return ModelConfig::from_json(*config, gguf.file().path().string());
  }
  Error error = gguf.wrong(kKey, "llama, qwen2, qwen3, phi3 or olmo2");
  if (name->has_value()) error.code = ErrorCode::kUnsupported;
  return error;
}

}  // namespace pando::model
