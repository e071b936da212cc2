// Granite 3, dense: Llama with multipliers of embeddings, of what layers add, of attention and of
// logits.
#include "model/families/decoder_fields.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/multipliers.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields, {.kv_heads_as_heads = true, .attention_bias = true}, config);
  refuse_window(fields, config);
  read_multipliers(fields, config);
}

void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
  gguf.attention_bias();
  translate_multipliers(gguf);
  // False: queries and keys do not rotate.
  constexpr const char* kRotates = "rope.scaling.finetuned";
  if (!gguf.fields().boolean(kRotates).value_or(true))
    gguf.fields().refuse(kRotates, "true for granite", ErrorCode::kUnsupported);
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  return usual_layer(config, layer, RowPairs::kGguf);
}

ModelConfig granite_2b() {
  ModelConfig config = shape_of(kGranite, {.vocab = 49155,
                                           .d_model = 2048,
                                           .n_layers = 40,
                                           .n_heads = 32,
                                           .n_kv_heads = 8,
                                           .d_ff = 8192,
                                           .head_dim = 64});
  config.rotations[0].theta = 5e6;
  config.max_positions = 131072;
  config.tied_embeddings = true;
  config.bos_id = 0;
  config.eos_ids = {0};
  config.embedding_scale = 12.0f;
  config.residual_scale = 0.22f;
  config.attention_scale = 0.015625f;
  config.logit_divisor = 8.0f;
  return config;
}

ModelConfig tiny_granite3() {
  ModelConfig config =
      tiny_shape(kGranite, {.n_layers = 3, .head_dim = 16, .d_ff = 152, .tied = false});
  config.embedding_scale = 3.0f;
  config.residual_scale = 0.7f;
  config.attention_scale = 0.125f;
  config.logit_divisor = 2.0f;
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"granite-3.1-2b", granite_2b()}, {"tiny-granite3", tiny_granite3()}};
}

}  // namespace

const Family kGranite = {.name = "granite",
                         .architecture = "GraniteForCausalLM",
                         .gguf_architecture = "granite",
                         .offers = kMultipliers,
                         .read = read,
                         .write = write_multipliers,
                         .translate = translate,
                         .layer_weights = layer_weights,
                         .shapes = shapes};

}  // namespace pando::model
