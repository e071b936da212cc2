// SmolLM3: Llama, with layers whose queries and keys do not rotate.
#include "base/errors.h"
#include "base/json.h"
#include "model/families/decoder_fields.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr const char *kLayers = "no_rope_layers", *kInterval = "no_rope_layer_interval";
constexpr std::string_view kOffers[] = {kLayers};

// Rotation 1 of every model: none.
void set_rotations(ModelConfig& config) { config.rotations.push_back({.rotary_share = 0.0}); }

// The list has a 1 for a layer that rotates, and may be longer than the model. Without it every
// n-th layer does not rotate.
void read_rotations(Fields& fields, ModelConfig& config) {
  const nlohmann::json* list = fields.find(kLayers);
  const int64_t interval = fields.integer(kInterval, 1, kMaxLayers, 4);
  const int n_layers = config.n_layers();
  if (list != nullptr && (!list->is_array() || std::ssize(*list) < n_layers))
    return fields.refuse(kLayers,
                         fmt::format("a list with a 0 or 1 for each of {} layers", n_layers));
  for (int i = 0; i < n_layers; ++i) {
    LayerConfig& layer = config.layers[i];
    if (list == nullptr) {
      layer.rotation = (i + 1) % interval == 0 ? 1 : 0;
      continue;
    }
    const nlohmann::json& rotates = (*list)[i];
    if (rotates != 0 && rotates != 1) return fields.fail(place_in(kLayers, i), rotates, "0 or 1");
    layer.rotation = rotates == 0 ? 1 : 0;
  }
}

void read(Fields& fields, ModelConfig& config) {
  read_decoder(
      fields,
      {.kv_heads_as_heads = true, .tied = true, .attention_bias = true, .rope = {.theta = 2e6}},
      config);
  refuse_window(fields, config);
  set_rotations(config);
  read_rotations(fields, config);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  for (const LayerConfig& layer : config.layers)
    object[kLayers].push_back(layer.rotation == 0 ? 1 : 0);
}

// A GGUF file does not say which layers rotate: readers know that every fourth does not.
void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
  gguf.attention_bias();
  gguf.config()[kInterval] = 4;
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  return usual_layer(config, layer, RowPairs::kGguf);
}

void set_interval(int interval, ModelConfig& config) {
  set_rotations(config);
  for (int i = interval - 1; i < config.n_layers(); i += interval) config.layers[i].rotation = 1;
}

ModelConfig smollm3_3b() {
  ModelConfig config = shape_of(kSmolLm3, {.vocab = 128256,
                                           .d_model = 2048,
                                           .n_layers = 36,
                                           .n_heads = 16,
                                           .n_kv_heads = 4,
                                           .d_ff = 11008});
  config.rms_eps = 1e-6f;
  config.rotations[0].theta = 5e6;
  config.max_positions = 65536;
  config.tied_embeddings = true;
  config.bos_id = 128000;
  config.eos_ids = {128012};
  set_interval(4, config);
  return config;
}

ModelConfig tiny_smollm3() {
  ModelConfig config =
      tiny_shape(kSmolLm3, {.n_layers = 4, .head_dim = 16, .d_ff = 152, .tied = false});
  set_interval(2, config);
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"smollm3-3b", smollm3_3b()}, {"tiny-smollm3", tiny_smollm3()}};
}

}  // namespace

const Family kSmolLm3 = {.name = "smollm3",
                         .architecture = "SmolLM3ForCausalLM",
                         .gguf_architecture = "smollm3",
                         .offers = kOffers,
                         .read = read,
                         .write = write,
                         .translate = translate,
                         .layer_weights = layer_weights,
                         .shapes = shapes};

}  // namespace pando::model
