#include "model/gguf_rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/json.h"

namespace pando::model {
namespace {

using json = Json;

class RopeTranslator {
 public:
  RopeTranslator(GgufFields& fields, int64_t rotary_dim, std::span<const std::string_view> offers,
                 json& config)
      : fields_(fields), rotary_dim_(rotary_dim), offers_(offers), config_(config) {}

  // A file says its scaling in one of three ways: by type and factor, by the two lists of longrope,
  // or by Llama 3's factors. Two at once have no meaning.
  void translate() {
    refuse_other_rope_keys();
    const bool is_long = fields_.file().find_tensor("rope_factors_long.weight") != nullptr ||
                         fields_.file().find_tensor("rope_factors_short.weight") != nullptr;
    const bool is_llama3 = fields_.file().find_tensor("rope_freqs.weight") != nullptr;
    json scaling = typed_scaling(is_long);
    if (is_long + is_llama3 + !scaling.empty() > 1)
      fields_.fail(
          in_file(fields_.source(),
                  unsupported("{} and {} both scale the rotation, expected only one of them",
                              scaling.empty() ? "rope_factors_long.weight"
                                              : scaling["rope_type"].get<std::string>(),
                              is_llama3 ? "rope_freqs.weight" : "rope_factors_long.weight")));
    if (is_long) scaling = longrope_scaling();
    if (is_llama3) scaling = scaling_by_factors();
    if (!scaling.empty()) config_["rope_scaling"] = std::move(scaling);
    fields_.comes_from("rope_scaling", "rotation");
  }

 private:
  // An unread key would silently make another model.
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
    const std::string root = fields_.key(""), prefix = root + "rope.";
    for (const std::string_view found : fields_.file().keys(prefix))
      if (std::ranges::find(kKnown, found.substr(prefix.size())) == std::end(kKnown) &&
          !is_offered(found.substr(root.size())))
        fields_.refuse(found.substr(root.size()), "no such key", ErrorCode::kUnsupported);
    for (const auto& [name, usual] :
         {std::pair{"rope.scaling.yarn_ext_factor", 1.0}, {kLogMultiplier, 0.0}})
      if (!is_offered(name) && fields_.finite(name).value_or(usual) != usual)
        fields_.refuse(name, fmt::format("{}", usual), ErrorCode::kUnsupported);
    // Some files have it; it follows from the factor.
    constexpr const char* kAttention = "rope.scaling.yarn_attn_factor";
    const double usual = 0.1 * std::log(std::max(1.0, scaling_factor())) + 1.0;
    const double attention = fields_.finite(kAttention).value_or(1.0);
    if (attention != 1.0 && std::abs(attention - usual) > 1e-6 * usual)
      fields_.refuse(kAttention, fmt::format("1 or {:.6g}", usual), ErrorCode::kUnsupported);
  }

  bool is_offered(std::string_view name) const {
    return std::ranges::find(offers_, name) != offers_.end();
  }

  // The factor, 1 if there is none; scale_linear is its older name, and 0 means none.
  double scaling_factor() {
    const auto factor = fields_.finite("rope.scaling.factor"),
               older = fields_.finite("rope.scale_linear");
    if (factor && older && *factor != *older)
      fields_.refuse("rope.scale_linear", fmt::format("rope.scaling.factor {}", *factor));
    const double value = factor.value_or(older.value_or(0.0));
    return value == 0.0 ? 1.0 : value;
  }

  // Scaling of the types linear and yarn; empty if positions are unscaled. is_long: tensors hold
  // the rest.
  json typed_scaling(bool is_long) {
    constexpr const char* kType = "rope.scaling.type";
    constexpr const char* kAttention = "rope.scaling.attn_factor";
    const auto stated = fields_.string(kType);
    const double factor = scaling_factor();
    const std::string_view type = stated.value_or(factor == 1.0 ? "none" : "linear");
    if (type != "none" && type != "linear" && type != "yarn" && type != "longrope")
      fields_.refuse(kType, "none, linear, yarn or longrope", ErrorCode::kUnsupported);
    if (type == "longrope" && !is_long)
      fields_.refuse(kType, "another value, or a tensor rope_factors_long.weight");
    if (!is_long && fields_.finite(kAttention).value_or(1.0) != 1.0)
      fields_.refuse(kAttention, "1", ErrorCode::kUnsupported);
    if (type != "yarn")
      for (const char* name : {"rope.scaling.yarn_beta_fast", "rope.scaling.yarn_beta_slow"})
        if (fields_.has(name))
          fields_.refuse(name, "no such key without rope.scaling.type yarn",
                         ErrorCode::kUnsupported);
    const bool has_factor = fields_.has("rope.scaling.factor");
    const char* factor_key = has_factor ? "rope.scaling.factor" : "rope.scale_linear";
    fields_.comes_from_key("factor", factor_key);
    if ((type == "linear" || type == "yarn") && !has_factor && !fields_.has("rope.scale_linear"))
      fields_.refuse("rope.scaling.factor", "a float");
    if (type == "longrope" && factor != 1.0)
      fields_.refuse(factor_key, "1 with longrope", ErrorCode::kUnsupported);
    // "none" with a factor: scaling is switched off.
    if (type == "none" || type == "longrope" || (type == "linear" && factor == 1.0)) return {};
    json scaling = {{"rope_type", type == "yarn" ? "yarn" : "linear"}, {"factor", factor}};
    if (type != "yarn") return scaling;
    const auto original = fields_.integer("rope.scaling.original_context_length");
    if (original) scaling["original_max_position_embeddings"] = *original;
    fields_.comes_from_key("original_max_position_embeddings",
                           "rope.scaling.original_context_length");
    fields_.copy_real("rope.scaling.yarn_beta_fast", "beta_fast", scaling);
    fields_.copy_real("rope.scaling.yarn_beta_slow", "beta_slow", scaling);
    if (const double all = fields_.finite(kLogMultiplier).value_or(0.0); all != 0.0) {
      scaling["mscale"] = 1.0;
      scaling["mscale_all_dim"] = all;
      fields_.comes_from_key("mscale_all_dim", kLogMultiplier);
    }
    return scaling;
  }

  json longrope_scaling() {
    constexpr const char* kOriginal = "rope.scaling.original_context_length";
    const auto positions = fields_.integer(kOriginal);
    if (!positions) fields_.refuse(kOriginal, "a whole number");
    config_["original_max_position_embeddings"] = positions.value_or(1);
    fields_.comes_from_key("original_max_position_embeddings", kOriginal);
    fields_.comes_from("long_factor", "'rope_factors_long.weight'");
    fields_.comes_from("short_factor", "'rope_factors_short.weight'");
    fields_.comes_from_key("attention_factor", "rope.scaling.attn_factor");
    json scaling = {{"rope_type", "longrope"},
                    {"long_factor", fields_.floats("rope_factors_long.weight", rotary_dim_ / 2)},
                    {"short_factor", fields_.floats("rope_factors_short.weight", rotary_dim_ / 2)}};
    const auto attention = fields_.finite("rope.scaling.attn_factor");
    // Rounded to f32: left out if it equals the value from the lengths, in double precision.
    const double least = std::max(2.0, static_cast<double>(positions.value_or(2)));
    const double ratio = config_["max_position_embeddings"].get<double>() / least;
    const double usual = std::sqrt(1.0 + std::log(std::max(1.0, ratio)) / std::log(least));
    if (attention && static_cast<float>(*attention) != static_cast<float>(usual))
      scaling["attention_factor"] = *attention;
    return scaling;
  }

  // One factor for each frequency.
  json scaling_by_factors() {
    const std::vector<float> factors = fields_.floats("rope_freqs.weight", rotary_dim_ / 2);
    constexpr float kStops = 1e30f;  // a frequency
    const auto first_stopped = std::ranges::find(factors, kStops);
    const bool is_proportional =
        first_stopped != factors.end() &&
        std::all_of(factors.begin(), first_stopped, [](float f) { return f == 1.0f; }) &&
        std::all_of(first_stopped, factors.end(), [](float f) { return f == kStops; });
    if (!is_proportional) return llama3_scaling(factors);
    const auto n = static_cast<double>(first_stopped - factors.begin());
    const auto n_all = static_cast<double>(factors.size());
    double share = n / n_all;
    if (share * n_all < n) share = std::nextafter(share, 1.0);  // the product is cut
    return {{"rope_type", "proportional"}, {"partial_rotary_factor", share}};
  }

  // Llama 3's scaling is stored as its effect, one factor for each frequency. The factors of the
  // published models are recognised, so that the frequencies are computed as from their config.json
  // and not from rounded factors.
  json llama3_scaling(const std::vector<float>& factors) {
    const double theta = config_.value("rope_theta", 10000.0);
    for (const double factor : {8.0, 32.0, 16.0, 4.0, 2.0})
      if (near(factors, llama3_factors(factor, theta, factors.size())))
        return {{"rope_type", "llama3"},
                {"factor", factor},
                {"low_freq_factor", kLowFactor},
                {"high_freq_factor", kHighFactor},
                {"original_max_position_embeddings", kOriginalPositions}};
    fields_.fail(in_file(
        fields_.source(),
        unsupported(
            "tensor 'rope_freqs.weight' does not hold the factors of Llama 3, expected those")));
    return {};
  }

  // Writers compute them in f32 or in double precision.
  static bool near(const std::vector<float>& a, const std::vector<float>& b) {
    return std::ranges::equal(
        a, b, [](float x, float y) { return std::fabs(x - y) <= 1e-4f * std::fabs(y); });
  }

  static constexpr const char* kLogMultiplier = "rope.scaling.yarn_log_multiplier";
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

  GgufFields& fields_;
  int64_t rotary_dim_;
  std::span<const std::string_view> offers_;
  json& config_;
};

}  // namespace

void translate_rope(GgufFields& fields, int64_t rotary_dim,
                    std::span<const std::string_view> offers, json& config) {
  RopeTranslator(fields, rotary_dim, offers, config).translate();
}

}  // namespace pando::model
