// Reads, writes and translates the fields that the rows of families list.
#include <fmt/format.h>

#include <cmath>
#include <string>

#include "base/errors.h"
#include "base/json.h"
#include "model/config_ranges.h"
#include "model/families/decoder_fields.h"
#include "model/families/experts.h"
#include "model/families/hooks.h"
#include "model/families/routed_experts.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

using json = Json;
using nlohmann::ordered_json;

constexpr const char *kAttentionBias = "attention_bias", *kQkNorm = "use_qk_norm",
                     *kShare = "partial_rotary_factor";

void read_biases(Fields& fields, ModelConfig& config) {
  const Family& family = *config.family;
  if (family.biases.empty()) return;
  config.qkv_bias = family.fixed.qkv_bias;
  config.o_bias = family.fixed.o_bias;
  for (const BiasField& field : family.biases)
    for (bool ModelSpec::*bias : field.biases)
      config.*bias = fields.boolean(field.name, field.absent);
}

void read_numbers(Fields& fields, ModelConfig& config) {
  for (const auto& [name, key, to, absent, may_be_null] : config.family->numbers) {
    const bool is_null = may_be_null && fields.contains(name) && !fields.has(name);
    config.*to = is_null ? 0.0f : static_cast<float>(fields.real(name, kScales, absent));
  }
}

void refuse_others(Fields& fields, std::span<const OnlyValue> only) {
  for (const auto& [name, value] : only) {
    std::string expected;
    bool is_found = true;
    if (const bool* flag = std::get_if<bool>(&value)) {
      is_found = fields.boolean(name, *flag) == *flag;
      expected = *flag ? "true" : "false";
    } else if (const double* number = std::get_if<double>(&value)) {
      is_found = fields.positive(name, *number) == *number;
      expected = fmt::format("{}", *number);
    } else {
      const char* text = std::get<const char*>(value);
      is_found = fields.string(name, text) == text;
      expected = fmt::format("\"{}\"", text);
    }
    if (!is_found) fields.refuse(name, expected, ErrorCode::kUnsupported);
  }
}

const char* gguf_eps(const Family& family) {
  if (family.decoder.gguf_eps != nullptr) return family.decoder.gguf_eps;
  return family.fixed.norm == Norm::kLayer ? "attention.layer_norm_epsilon"
                                           : "attention.layer_norm_rms_epsilon";
}

void translate_biases(GgufTranslator& gguf) {
  const Family& family = gguf.family();
  if (family.biases.empty() && !family.fixed.qkv_bias) gguf.attention_bias();
  for (const BiasField& field : family.biases)
    gguf.config()[field.name] = gguf.has_tensor(field.gguf_bias);
}

}  // namespace

void read_usual(Fields& fields, ModelConfig& config) {
  read_usual(fields, config.family->decoder, config);
}

void read_usual(Fields& fields, const DecoderFields& decoder, ModelConfig& config) {
  const Family& family = *config.family;
  read_decoder(fields, decoder, config);
  read_biases(fields, config);
  if (family.use_qk_norm != QkNorm::kNone && fields.boolean(kQkNorm, false))
    config.qk_norm = family.use_qk_norm;
  refuse_others(fields, family.only);
  read_windows(fields, family.windows, config);
  if (family.experts) read_experts(fields, *family.experts, config);
  if (family.routed) read_routed(fields, *family.routed, config);
  read_numbers(fields, config);
  if (family.scales_embeddings)
    config.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(config.d_model)));
}

void write_usual(const ModelConfig& config, ordered_json& object) {
  const Family& family = *config.family;
  const DecoderFields& decoder = family.decoder;
  constexpr std::string_view kEps = "rms_norm_eps", kActivation = "hidden_act";
  if (decoder.rms_eps_name != kEps) {
    object[decoder.rms_eps_name] = object[kEps];
    object.erase(kEps);
  }
  if (decoder.gelus) {
    write_gelu(config, object);
  } else if (decoder.activation != std::string_view("silu")) {
    object.erase(kActivation);
    object[decoder.activation_name] = decoder.activation;
  }
  if (decoder.rope.rotary_share != 1.0) object[kShare] = config.rotations[0].rotary_share;
  if (config.o_bias && !decoder.attention_bias) object.erase(kAttentionBias);
  for (const BiasField& field : family.biases) object[field.name] = config.*field.biases.front();
  if (family.use_qk_norm != QkNorm::kNone && config.qk_norm != QkNorm::kNone)
    object[kQkNorm] = true;
  write_windows(config, family.windows, object);
  if (family.experts) write_experts(config, *family.experts, object);
  if (family.routed) write_routed_experts(config, object);
  // The shortest decimal that reads back as this f32.
  for (const NumberField& number : family.numbers)
    object[number.name] = number.may_be_null && config.*number.to == 0.0f
                              ? json(nullptr)
                              : json::parse(fmt::format("{}", config.*number.to));
}

void translate_usual(GgufTranslator& gguf) {
  const Family& family = gguf.family();
  const DecoderFields& decoder = family.decoder;
  json& config = gguf.config();
  gguf.decoder(gguf_eps(family));
  translate_windows(gguf, family.windows);
  translate_biases(gguf);
  if (decoder.rms_eps_name != std::string_view("rms_norm_eps"))
    gguf.same(decoder.rms_eps_name, "rms_norm_eps");
  config["hidden_act"] = decoder.activation;
  if (decoder.rope.rotary_share != 1.0 && !config.contains(kShare)) config[kShare] = 1.0;
  if (family.use_qk_norm != QkNorm::kNone) config[kQkNorm] = gguf.has_tensor(".attn_q_norm.weight");
  if (family.experts) translate_experts(gguf, *family.experts);
  if (family.routed) translate_routed(gguf, *family.routed);
  for (const NumberField& number : family.numbers)
    if (!gguf.fields().copy_real(number.key, number.name, config) && !number.may_be_null)
      gguf.fields().refuse(number.key, "a float");
}

std::vector<std::string_view> Family::offered() const {
  std::vector<std::string_view> all = offers;
  const auto add = [&](std::initializer_list<std::string_view> names) {
    all.insert(all.end(), names);
  };
  if (experts) add({"num_experts", "num_local_experts", "expert_count"});
  if (routed) add({"n_routed_experts", "expert_count", "expert_weights_scale"});
  if (decoder.rope.sections) add({"rope.dimension_sections"});
  for (const NumberField& number : numbers) add({number.name, number.key});
  return all;
}

}  // namespace pando::model
