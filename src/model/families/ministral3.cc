// Ministral 3: Llama, whose queries grow with their positions. GGUF files of Mistral Small 3 are of
// this architecture too.
#include "model/families/decoder_fields.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr const char *kGrowth = "attention.temperature_scale",
                     *kLogMultiplier = "rope.scaling.yarn_log_multiplier";
constexpr std::string_view kOffers[] = {kGrowth, kLogMultiplier};

// What the library takes where the file says nothing of rotation.
const RopeConfig kAbsentRope = {.type = RopeType::kYarn,
                                .theta = 1e6,
                                .factor = 16.0,
                                .original_positions = 16384,
                                .query_growth = 0.1f};

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields,
               {.head_dim = 128, .rms_eps = 1e-5, .rope = {.query_growth = true, .theta = 1e6}},
               config);
  if (!fields.has("rope_parameters") && !fields.has("rope_scaling") && !fields.has("rope_theta"))
    config.rotations = {kAbsentRope};
  read_window(fields, /*absent=*/0, config);
}

void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.window();
  gguf.attention_bias();
  if (!gguf.config().contains("rope_theta")) gguf.config()["rope_theta"] = 1e4;  // as readers do
  GgufFields& fields = gguf.fields();
  const double growth = fields.finite(kGrowth).value_or(0.0);
  if (growth == 0.0) return;
  nlohmann::json& scaling = gguf.config()["rope_scaling"];
  if (!scaling.is_object() || scaling.value("rope_type", "") != "yarn")
    return fields.refuse(kGrowth, "0 without rope.scaling.type yarn", ErrorCode::kUnsupported);
  scaling["llama_4_scaling_beta"] = growth;
  fields.comes_from_key("llama_4_scaling_beta", kGrowth);
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  return usual_layer(config, layer, RowPairs::kGguf);
}

ModelConfig ministral3_3b() {
  ModelConfig config = shape_of(kMinistral3, {.vocab = 131072,
                                              .d_model = 3072,
                                              .n_layers = 26,
                                              .n_heads = 32,
                                              .n_kv_heads = 8,
                                              .d_ff = 9216});
  config.rotations = {kAbsentRope};
  config.max_positions = 262144;
  config.tied_embeddings = true;
  config.bos_id = 1;
  config.eos_ids = {2};
  return config;
}

// Queries grow every 32 positions.
ModelConfig tiny_ministral3() {
  ModelConfig config =
      tiny_shape(kMinistral3, {.n_layers = 2, .head_dim = 16, .d_ff = 144, .tied = true});
  config.rotations = {{.type = RopeType::kYarn,
                       .theta = 1e4,
                       .factor = 4.0,
                       .original_positions = 32,
                       .query_growth = 0.25f}};
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"ministral-3-3b", ministral3_3b()}, {"tiny-ministral3", tiny_ministral3()}};
}

}  // namespace

const Family kMinistral3 = {.name = "ministral3",
                            .architecture = "Ministral3ForCausalLM",
                            .gguf_architecture = "mistral3",
                            .wrapper = "mistral3",
                            .offers = kOffers,
                            .read = read,
                            .write = write_window,
                            .translate = translate,
                            .layer_weights = layer_weights,
                            .shapes = shapes};

}  // namespace pando::model
