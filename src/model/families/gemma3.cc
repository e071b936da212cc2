// Gemma 3, text: norms of each query and key, and a window in most layers, which have a rotation of
// their own.
#include "model/config_ranges.h"
#include "model/families/decoder_fields.h"
#include "model/families/gemma.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/typed_rotations.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr std::string_view kOffers[] = {kGemmaScalar, kSlidingBase};
constexpr int kInterval = 6;  // every sixth layer sees all, where nothing else is said
constexpr double kFullTheta = 1e6, kSlidingTheta = 1e4;
// Published files leave out what the library takes anyway.
constexpr const char* kAbsent =
    R"({"vocab_size": 262208, "hidden_size": 2304, "intermediate_size": 9216,
        "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4,
        "max_position_embeddings": 131072})";

void fix(ModelConfig& config) {
  config.qk_norm = QkNorm::kPerHead;
  config.activation = Activation::kGeluTanh;
}

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields,
               {.head_dim = 256,
                .activation = kGemmaActivation,
                .tied = true,
                .attention_bias = true,
                .rope = {.theta = kFullTheta, .layer_type = kFullAttention}},
               config);
  const int64_t interval = fields.integer("sliding_window_pattern", 1, kMaxLayers, kInterval);
  read_mixed_windows(fields, /*absent=*/4096, interval, config);
  const double sliding_theta = fields.real("rope_local_base_freq", kThetas, kSlidingTheta);
  read_typed_rotations(fields, {.theta = sliding_theta}, config);
  read_gemma(fields, config);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  write_gemma(config, object);
  write_typed_rotations(config, object);
  write_mixed_windows(config, object);
}

void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.layer_windows(kInterval);
  gguf.attention_bias();
  translate_typed_rotations(gguf, kSlidingTheta);
  translate_gemma(gguf, /*largest=*/62);
}

ModelConfig gemma3_4b() {
  ModelConfig config = shape_of(kGemma3, {.vocab = 262208,
                                          .d_model = 2560,
                                          .n_layers = 34,
                                          .n_heads = 8,
                                          .n_kv_heads = 4,
                                          .d_ff = 10240,
                                          .head_dim = 256});
  config.rms_eps = 1e-6f;
  config.rotations = {{.type = RopeType::kLinear, .theta = kFullTheta, .factor = 8.0},
                      {.theta = kSlidingTheta}};
  config.max_positions = 131072;
  config.tied_embeddings = true;
  config.bos_id = 2;
  config.eos_ids = {1, 106};
  scale_embeddings(config);
  set_windows(1024, kInterval, config);
  set_typed_rotations(config);
  return config;
}

ModelConfig tiny_gemma3() {
  ModelConfig config =
      tiny_shape(kGemma3, {.n_layers = 4, .head_dim = 16, .d_ff = 152, .tied = false});
  config.rotations = {{.theta = kFullTheta}, {.theta = kSlidingTheta}};
  scale_embeddings(config);
  set_windows(24, 2, config);
  set_typed_rotations(config);
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"gemma-3-4b", gemma3_4b()}, {"tiny-gemma3", tiny_gemma3()}};
}

}  // namespace

const Family kGemma3 = {.name = "gemma3_text",
                        .architecture = "Gemma3ForCausalLM",
                        .gguf_architecture = "gemma3",
                        .wrapper = "gemma3",
                        .offers = kOffers,
                        .absent = kAbsent,
                        .fix = fix,
                        .read = read,
                        .write = write,
                        .translate = translate,
                        .layer_weights = gemma_layer,
                        .last_norm = last_gemma_norm,
                        .shapes = shapes};

}  // namespace pando::model
