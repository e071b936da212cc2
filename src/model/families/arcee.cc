// Arcee: Llama with a feed-forward that has no gate, and the square of ReLU as its activation.
#include "model/families/decoder_fields.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr const char* kActivation = "relu2";

void fix(ModelConfig& config) { config.activation = Activation::kSquaredRelu; }

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields,
               {.kv_heads_as_heads = true,
                .rms_eps = 1e-5,
                .activation = kActivation,
                .attention_bias = true},
               config);
  refuse_window(fields, config);
}

void write(const ModelConfig&, nlohmann::ordered_json& object) {
  object["hidden_act"] = kActivation;
}

void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
  gguf.attention_bias();
  gguf.config()["hidden_act"] = kActivation;
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  return usual_layer(config, layer, RowPairs::kGguf);
}

ModelConfig afm_4_5b() {
  ModelConfig config = shape_of(kArcee, {.vocab = 128004,
                                         .d_model = 2560,
                                         .n_layers = 36,
                                         .n_heads = 20,
                                         .n_kv_heads = 4,
                                         .d_ff = 18432});
  config.rms_eps = 1e-5f;
  config.max_positions = 4096;
  config.bos_id = 128000;
  config.eos_ids = {128001, 128003};
  return config;
}

ModelConfig tiny_arcee() {
  return tiny_shape(kArcee, {.n_layers = 2, .head_dim = 16, .d_ff = 152, .tied = false});
}

std::vector<NamedShape> shapes() {
  return {{"afm-4.5b", afm_4_5b()}, {"tiny-arcee", tiny_arcee()}};
}

}  // namespace

const Family kArcee = {.name = "arcee",
                       .architecture = "ArceeForCausalLM",
                       .gguf_architecture = "arcee",
                       .fix = fix,
                       .read = read,
                       .write = write,
                       .translate = translate,
                       .layer_weights = layer_weights,
                       .shapes = shapes};

}  // namespace pando::model
