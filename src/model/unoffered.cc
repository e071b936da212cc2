#include "model/unoffered.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"

namespace pando::model {
namespace {

using json = Json;

struct Unoffered {
  const char* name;
  const char* neutral;  // JSON: the value that changes nothing, beside null
};

// Fields of config.json.
constexpr Unoffered kFields[] = {
    {"attn_logit_softcapping", "0"},
    {"final_logit_softcapping", "0"},
    {"logit_scale", "1"},
    {"logits_scaling", "1"},
    {"embedding_multiplier", "1"},
    {"residual_multiplier", "1"},
    {"attention_multiplier", "null"},
    {"scale_emb", "1"},
    {"scale_depth", "null"},
    {"clip_qkv", "null"},
    {"no_rope_layers", "1"},  // 0: a layer without rotation
    {"attention_chunk_size", "null"},
    {"attn_temperature_tuning", "false"},
    {"attn_output_gate", "false"},
    {"attention_sinks", "false"},
    {"swiglu_limit", "null"},
    {"rope_interleaved", "false"},
    {"use_mrope", "false"},
    {"parallel_residual", "false"},
    {"use_parallel_residual", "false"},
    {"alibi", "false"},
    {"rms_norm_add_unit_offset", "false"},
    {"num_experts", "0"},
    {"num_local_experts", "0"},
    {"n_routed_experts", "0"},
    {"kv_lora_rank", "null"},
};

// Keys of GGUF files, below the architecture; floats.
constexpr Unoffered kKeys[] = {{"attn_logit_softcapping", "0"},
                               {"final_logit_softcapping", "0"},
                               {"logit_scale", "1"},
                               {"residual_scale", "1"},
                               {"embedding_scale", "1"},
                               {"attention.clamp_kqv", "0"},
                               {"attention.max_alibi_bias", "0"},
                               {"attention.temperature_scale", "0"},
                               {"expert_weights_scale", "1"}};

// A list is as its elements.
bool is_neutral(const json& value, const json& neutral) {
  if (value.is_array())
    return std::ranges::all_of(value, [&](const json& one) { return is_neutral(one, neutral); });
  return value.is_null() || value == neutral;
}

bool is_offered(std::string_view name, std::span<const std::string_view> offers) {
  return std::ranges::find(offers, name) != offers.end();
}

}  // namespace

void refuse_unoffered(Fields& fields, int64_t head_dim, std::span<const std::string_view> offers) {
  for (const auto& [name, neutral] : kFields) {
    if (is_offered(name, offers)) continue;
    const json* value = fields.find(name);
    if (value != nullptr && !is_neutral(*value, json::parse(neutral)))
      fields.refuse(name, neutral, ErrorCode::kUnsupported);
  }
  // Attention is divided by its square root.
  constexpr const char* kScalar = "query_pre_attn_scalar";
  const json* scalar = fields.find(kScalar);
  if (scalar != nullptr && *scalar != head_dim && !is_offered(kScalar, offers))
    fields.refuse(kScalar, fmt::format("the head size, {}", head_dim), ErrorCode::kUnsupported);
}

void refuse_unoffered(GgufFields& fields, int64_t head_dim,
                      std::span<const std::string_view> offers) {
  for (const auto& [name, neutral] : kKeys) {
    if (!fields.has(name) || is_offered(name, offers)) continue;
    const std::optional<double> value = fields.finite(name);
    if (value && *value != json::parse(neutral))
      fields.refuse(name, neutral, ErrorCode::kUnsupported);
  }
  constexpr const char* kParallel = "use_parallel_residual";
  if (!is_offered(kParallel, offers) && fields.boolean(kParallel).value_or(false))
    fields.refuse(kParallel, "false", ErrorCode::kUnsupported);
  constexpr const char* kScale = "attention.scale";
  if (!fields.has(kScale) || is_offered(kScale, offers)) return;
  const double scale = fields.finite(kScale).value_or(0);
  const double own = 1 / std::sqrt(static_cast<double>(head_dim));
  if (scale != 0 && std::abs(scale - own) > 1e-6 * own)
    fields.refuse(kScale, fmt::format("{:.6g}, the scale for heads of {} channels", own, head_dim),
                  ErrorCode::kUnsupported);
}

void refuse_unknown(Fields& fields, const json& object, std::span<const std::string_view> known) {
  const auto asks_for_nothing = [](const json& value) {
    return value.is_null() || value == false || value == "" ||
           (value.is_structured() && value.empty());
  };
  for (const auto& [name, value] : object.items())
    if (!asks_for_nothing(value) && std::ranges::find(known, name) == known.end())
      fields.refuse(name, "null", ErrorCode::kUnsupported);
}

}  // namespace pando::model
