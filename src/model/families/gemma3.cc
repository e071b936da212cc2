// Gemma 3, text: norms before and after attention and feed-forward and of each query and key, all
// of them stored minus 1; GELU; embeddings times the root of their width; a window in most layers,
// which have a rotation of their own.
#include <cmath>

#include "model/families/decoder_fields.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/typed_rotations.h"
#include "model/families/vision.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr const char *kScalar = "query_pre_attn_scalar", *kActivation = "gelu_pytorch_tanh";
constexpr std::string_view kOffers[] = {kScalar, kSlidingBase};
constexpr int kInterval = 6;  // every sixth layer sees all, where nothing else is said
constexpr double kFullTheta = 1e6, kSlidingTheta = 1e4;
// Published files leave out what the library takes anyway.
constexpr const char* kAbsent =
    R"({"vocab_size": 262208, "hidden_size": 2304, "intermediate_size": 9216,
        "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4,
        "max_position_embeddings": 131072, "query_pre_attn_scalar": 256})";

void fix(ModelConfig& config) {
  config.qk_norm = QkNorm::kPerHead;
  config.activation = Activation::kGeluTanh;
}

void scale_embeddings(ModelConfig& config) {
  config.embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(config.d_model)));
}

// By the root of the scalar products of queries and keys are divided.
void read_scalar(Fields& fields, ModelConfig& config) {
  const int64_t scalar = fields.integer(kScalar, 1, kMaxWidth);
  if (scalar != config.head_dim)
    config.attention_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(scalar)));
}

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields,
               {.head_dim = 256,
                .activation = kActivation,
                .tied = true,
                .attention_bias = true,
                .rope = {.theta = kFullTheta, .layer_type = kFullAttention}},
               config);
  const int64_t interval = fields.integer("sliding_window_pattern", 1, kMaxLayers, kInterval);
  read_mixed_windows(fields, /*absent=*/4096, interval, config);
  const double sliding_theta = fields.positive("rope_local_base_freq", kSlidingTheta);
  read_typed_rotations(fields, {.theta = sliding_theta}, config);
  read_scalar(fields, config);
  scale_embeddings(config);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  object.erase("hidden_act");
  object["hidden_activation"] = kActivation;
  const double scale = config.attention_scale;
  object[kScalar] = scale == 0.0 ? config.head_dim : std::lround(1.0 / (scale * scale));
  write_typed_rotations(config, object);
  write_mixed_windows(config, object);
}

// A GGUF file does not have the scalar: readers know that of the largest model.
void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.layer_windows(kInterval);
  gguf.attention_bias();
  translate_typed_rotations(gguf, kSlidingTheta);
  if (!gguf.fields().status()) return;
  nlohmann::json& config = gguf.config();
  config.erase("hidden_act");
  constexpr int kLargest = 62;  // layers
  const int64_t d_model = config["hidden_size"], n_heads = config["num_attention_heads"];
  config[kScalar] = config["head_dim"];
  if (config["num_hidden_layers"] == kLargest && n_heads > 0) config[kScalar] = d_model / n_heads;
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  LayerSpecs specs(config, layer);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  specs.queries_keys_values();
  specs.query_key_norms();
  specs.output();
  specs.norm("post_attention_layernorm", "post_attention_norm", &LayerWeights::attention_sum_norm);
  specs.norm("pre_feedforward_layernorm", "ffn_norm", &LayerWeights::feed_forward_norm);
  specs.gate_and_up();
  specs.down();
  specs.norm("post_feedforward_layernorm", "post_ffw_norm", &LayerWeights::feed_forward_sum_norm);
  for (WeightSpec& spec : specs.all())
    if (spec.name.ends_with("norm.weight")) spec.stored = Stored::kOneLess;
  return specs.take();
}

void last_norm(WeightSpec& spec) { spec.stored = Stored::kOneLess; }

void set_windows(int window, int interval, ModelConfig& config) {
  for (int i = 0; i < config.n_layers(); ++i)
    if ((i + 1) % interval != 0) config.layers[i].window = window;
  set_typed_rotations(config);
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
  return config;
}

ModelConfig tiny_gemma3() {
  ModelConfig config =
      tiny_shape(kGemma3, {.n_layers = 4, .head_dim = 16, .d_ff = 152, .tied = false});
  config.rotations = {{.theta = kFullTheta}, {.theta = kSlidingTheta}};
  scale_embeddings(config);
  set_windows(24, 2, config);
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
                        .layer_weights = layer_weights,
                        .last_norm = last_norm,
                        .passed_over = vision_part,
                        .shapes = shapes};

}  // namespace pando::model
