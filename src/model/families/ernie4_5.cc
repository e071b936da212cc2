// ERNIE 4.5, dense: Llama whose channels that turn together are neighbours.
#include "base/errors.h"
#include "model/families/decoder_fields.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

// A null says that the number follows from others; where the field is absent it is fixed.
void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields,
               {.head_dim = fields.contains("head_dim") ? 0 : 128,
                .kv_heads_as_heads = fields.contains("num_key_value_heads"),
                .rms_eps = 1e-5,
                .tied = true,
                .rope = {.theta = 5e5}},
               config);
  refuse_window(fields, config);
  if (fields.boolean("use_bias", false))
    fields.refuse("use_bias", "false", ErrorCode::kUnsupported);
}

void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  return usual_layer(config, layer, RowPairs::kAll);
}

ModelConfig ernie4_5_0_3b() {
  ModelConfig config = shape_of(kErnie4_5, {.vocab = 103424,
                                            .d_model = 1024,
                                            .n_layers = 18,
                                            .n_heads = 16,
                                            .n_kv_heads = 2,
                                            .d_ff = 3072});
  config.rotations[0].theta = 5e5;
  config.max_positions = 131072;
  config.tied_embeddings = true;
  config.bos_id = 1;
  config.eos_ids = {2};
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"ernie-4.5-0.3b", ernie4_5_0_3b()},
          {"tiny-ernie4.5",
           tiny_shape(kErnie4_5, {.n_layers = 2, .head_dim = 24, .d_ff = 160, .tied = true})}};
}

}  // namespace

const Family kErnie4_5 = {.name = "ernie4_5",
                          .architecture = "Ernie4_5ForCausalLM",
                          .gguf_architecture = "ernie4_5",
                          .older_architecture = "Ernie4_5_ForCausalLM",
                          .read = read,
                          .translate = translate,
                          .layer_weights = layer_weights,
                          .shapes = shapes};

}  // namespace pando::model
