// EXAONE 4: OLMo 2 with norms of each query and key. The larger model has a window in most layers,
// and no rotation in the others.
#include "model/families/decoder_fields.h"
#include "model/families/list.h"
#include "model/families/olmo2.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr const char* kWindow = "sliding_window";
constexpr int kInterval = 4;  // every fourth layer sees all, where nothing else is said

void fix(ModelConfig& config) { config.qk_norm = QkNorm::kPerHead; }

// The pattern may be letters in files that have layer_types or no window, and has no effect there.
void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields, {.rms_eps = 1e-5}, config);
  const bool has_windows = fields.has(kWindow) || !fields.contains(kWindow);
  const bool has_pattern = has_windows && !fields.has("layer_types");
  const int64_t interval =
      has_pattern ? fields.integer("sliding_window_pattern", 1, kMaxLayers, kInterval) : kInterval;
  read_mixed_windows(fields, /*absent=*/4096, interval, config);
  if (has_windows) rotate_in_windows(config);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  write_mixed_windows(config, object);
  // Null would mean that all layers rotate.
  if (config.rotations.size() > 1 && object[kWindow].is_null())
    object[kWindow] = config.max_positions;
}

void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.layer_windows(kInterval);
}

ModelConfig exaone4(const Sizes& sizes, int max_positions) {
  ModelConfig config = shape_of(kExaone4, sizes);
  config.rotations[0] = {
      .type = RopeType::kLlama3, .theta = 1e6, .factor = 16.0, .original_positions = 8192};
  config.max_positions = max_positions;
  config.bos_id = 1;
  config.eos_ids = {361};
  return config;
}

ModelConfig exaone4_1_2b() {
  ModelConfig config = exaone4({.vocab = 102400,
                                .d_model = 2048,
                                .n_layers = 30,
                                .n_heads = 32,
                                .n_kv_heads = 8,
                                .d_ff = 4096,
                                .head_dim = 64},
                               65536);
  config.tied_embeddings = true;
  return config;
}

ModelConfig exaone4_32b() {
  ModelConfig config = exaone4({.vocab = 102400,
                                .d_model = 5120,
                                .n_layers = 64,
                                .n_heads = 40,
                                .n_kv_heads = 8,
                                .d_ff = 27392},
                               131072);
  set_windows(4096, kInterval, config);
  rotate_in_windows(config);
  return config;
}

ModelConfig tiny_exaone4() {
  ModelConfig config =
      tiny_shape(kExaone4, {.n_layers = 4, .head_dim = 16, .d_ff = 152, .tied = false});
  set_windows(24, 2, config);
  rotate_in_windows(config);
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"exaone-4.0-1.2b", exaone4_1_2b()},
          {"exaone-4.0-32b", exaone4_32b()},
          {"tiny-exaone4", tiny_exaone4()}};
}

}  // namespace

const Family kExaone4 = {.name = "exaone4",
                         .architecture = "Exaone4ForCausalLM",
                         .gguf_architecture = "exaone4",
                         .fix = fix,
                         .read = read,
                         .write = write,
                         .translate = translate,
                         .layer_weights = olmo2_layer,
                         .shapes = shapes};

}  // namespace pando::model
