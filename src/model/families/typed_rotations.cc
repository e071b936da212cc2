#include "model/families/typed_rotations.h"

#include "base/json.h"

namespace pando::model {
namespace {

constexpr const char *kSliding = "sliding_attention", *kParameters = "rope_parameters";

}  // namespace

void read_typed_rotations(Fields& fields, const RopeFields& sliding, ModelConfig& config) {
  config.rotations.push_back(
      read_rope_of(fields, kSliding, sliding, config.head_dim, config.max_positions));
  set_typed_rotations(config);
}

void set_typed_rotations(ModelConfig& config) {
  for (LayerConfig& layer : config.layers) layer.rotation = layer.window > 0 ? 1 : 0;
}

void write_typed_rotations(const ModelConfig& config, nlohmann::ordered_json& object) {
  for (const char* name : {"rope_theta", "rope_scaling", "partial_rotary_factor"})
    object.erase(name);
  object[kParameters][kFullAttention] = rope_parameters(config.rotations[0]);
  object[kParameters][kSliding] = rope_parameters(config.rotations[1]);
}

void translate_typed_rotations(GgufTranslator& gguf, std::optional<double> sliding_theta) {
  GgufFields& fields = gguf.fields();
  Json& config = gguf.config();
  if (!fields.status()) return;
  Json full = config.value("rope_scaling", Json::object());
  const double theta = config.value("rope_theta", 10000.0);
  full["rope_theta"] = theta;
  for (const char* name : {"rope_theta", "rope_scaling"}) config.erase(name);
  const double base = fields.finite(kSlidingBase).value_or(sliding_theta.value_or(theta));
  config[kParameters] = {{kFullAttention, full}, {kSliding, {{"rope_theta", base}}}};
  fields.comes_from("rope_parameters.full_attention", "rotation");
  fields.comes_from("rope_parameters.sliding_attention", "rotation of layers with a window");
}

}  // namespace pando::model
