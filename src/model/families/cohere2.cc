// Cohere's Command R7B and Command A: as Command R, with a window and rotation in most layers, and
// neither in the others.
#include "base/errors.h"
#include "model/families/cohere.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"

namespace pando::model {
namespace {

constexpr int kInterval = 4;  // every fourth layer sees all, where nothing else is said

void read(Fields& fields, ModelConfig& config) {
  read_cohere(fields, /*theta=*/1e4, config);
  const int64_t interval = fields.integer("sliding_window_pattern", 1, kMaxLayers, kInterval);
  read_mixed_windows(fields, /*absent=*/4096, interval, config);
  rotate_in_windows(config);
  if (fields.positive("rotary_pct", 1.0) != 1.0)
    fields.refuse("rotary_pct", "1", ErrorCode::kUnsupported);
  if (!fields.boolean("use_parallel_block", true))
    fields.refuse("use_parallel_block", "true", ErrorCode::kUnsupported);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  write_cohere(config, object);
  write_mixed_windows(config, object);
}

void translate(GgufTranslator& gguf) {
  translate_cohere(gguf);
  gguf.layer_windows(kInterval);
}

ModelConfig command_r7b() {
  ModelConfig config = shape_of(kCohere2, {.vocab = 256000,
                                           .d_model = 4096,
                                           .n_layers = 32,
                                           .n_heads = 32,
                                           .n_kv_heads = 8,
                                           .d_ff = 14336});
  config.rotations[0].theta = 5e4;
  config.max_positions = 132096;
  config.tied_embeddings = true;
  config.bos_id = 5;
  config.eos_ids = {255001};
  config.logit_scale = 0.25f;
  set_windows(4096, kInterval, config);
  rotate_in_windows(config);
  return config;
}

ModelConfig tiny_cohere2() {
  ModelConfig config =
      tiny_shape(kCohere2, {.n_layers = 4, .head_dim = 16, .d_ff = 152, .tied = true});
  config.logit_scale = 0.5f;
  set_windows(24, 2, config);
  rotate_in_windows(config);
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"command-r7b", command_r7b()}, {"tiny-cohere2", tiny_cohere2()}};
}

}  // namespace

const Family kCohere2 = {.name = "cohere2",
                         .architecture = "Cohere2ForCausalLM",
                         .gguf_architecture = "cohere2",
                         .offers = kCohereOffers,
                         .fix = fix_cohere,
                         .read = read,
                         .write = write,
                         .translate = translate,
                         .layer_weights = cohere_layer,
                         .shapes = shapes};

}  // namespace pando::model
