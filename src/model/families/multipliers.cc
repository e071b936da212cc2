#include "model/families/multipliers.h"

#include <fmt/format.h>

#include <utility>

#include "model/config_ranges.h"

namespace pando::model {

void read_multipliers(Fields& fields, ModelConfig& config) {
  const auto number = [&](const char* name) {
    return static_cast<float>(fields.real(name, kScales, 1.0));
  };
  config.embedding_scale = number("embedding_multiplier");
  config.residual_scale = number("residual_multiplier");
  config.attention_scale = number("attention_multiplier");
  config.logit_divisor = number("logits_scaling");
}

void write_multipliers(const ModelConfig& config, nlohmann::ordered_json& object) {
  // The shortest decimal that reads back as this f32.
  const auto number = [](float value) { return nlohmann::json::parse(fmt::format("{}", value)); };
  object["embedding_multiplier"] = number(config.embedding_scale);
  object["residual_multiplier"] = number(config.residual_scale);
  object["attention_multiplier"] = number(config.attention_scale);
  object["logits_scaling"] = number(config.logit_divisor);
}

void translate_multipliers(GgufTranslator& gguf) {
  GgufFields& fields = gguf.fields();
  for (const auto& [key, field] : {std::pair{"embedding_scale", "embedding_multiplier"},
                                   {"residual_scale", "residual_multiplier"},
                                   {"attention.scale", "attention_multiplier"},
                                   {"logit_scale", "logits_scaling"}})
    if (!fields.copy_real(key, field, gguf.config())) fields.refuse(key, "a float");
}

}  // namespace pando::model
