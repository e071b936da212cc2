// Gemma 1: weights of norms stored minus 1; GELU; embeddings times the square root of their width.
#include "model/families/decoder_fields.h"
#include "model/families/gemma.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr const char* kActivation = "hidden_act";

void fix(ModelConfig& config) { config.activation = Activation::kGeluTanh; }

// Older files say "gelu". The library takes it as the same activation.
void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields,
               {.head_dim = 256,
                .activation = kGemmaActivation,
                .older_activation = "gelu",
                .tied = true,
                .attention_bias = true},
               config);
  refuse_window(fields, config);
  scale_embeddings(config);
}

void write(const ModelConfig&, nlohmann::ordered_json& object) {
  object[kActivation] = kGemmaActivation;
}

void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
  gguf.attention_bias();
  gguf.config().erase(kActivation);
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  std::vector<WeightSpec> specs = usual_layer(config, layer);
  for (WeightSpec& spec : specs)
    if (spec.name.ends_with("norm.weight")) spec.stored = Stored::kOneLess;
  return specs;
}

ModelConfig gemma_2b() {
  ModelConfig config = shape_of(kGemma, {.vocab = 256000,
                                         .d_model = 2048,
                                         .n_layers = 18,
                                         .n_heads = 8,
                                         .n_kv_heads = 1,
                                         .d_ff = 16384,
                                         .head_dim = 256});
  config.rms_eps = 1e-6f;
  config.max_positions = 8192;
  config.tied_embeddings = true;
  config.bos_id = 2;
  config.eos_ids = {1};
  scale_embeddings(config);
  return config;
}

ModelConfig tiny_gemma() {
  ModelConfig config =
      tiny_shape(kGemma, {.n_layers = 2, .head_dim = 16, .d_ff = 152, .tied = false});
  scale_embeddings(config);
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"gemma-2b", gemma_2b()}, {"tiny-gemma", tiny_gemma()}};
}

}  // namespace

const Family kGemma = {.name = "gemma",
                       .architecture = "GemmaForCausalLM",
                       .gguf_architecture = "gemma",
                       .fix = fix,
                       .read = read,
                       .write = write,
                       .translate = translate,
                       .layer_weights = layer_weights,
                       .last_norm = last_gemma_norm,
                       .shapes = shapes};

}  // namespace pando::model
