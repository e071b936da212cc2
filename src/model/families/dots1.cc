// dots.llm1: a norm over each query head and each key head; mixtures of experts in all layers but
// the first ones; sigmoids choose the experts. No layer has a window.
#include "base/errors.h"
#include "model/families/decoder_fields.h"
#include "model/families/experts.h"
#include "model/families/layer_list.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/routed_experts.h"
#include "model/families/shapes.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr const char* kDense = "first_k_dense_replace";
constexpr const char* kAbsent = R"({
  "first_k_dense_replace": 0, "routed_scaling_factor": 1.0, "norm_topk_prob": false, "n_group": 1,
  "topk_group": 1
})";

void fix(ModelConfig& config) { config.qk_norm = QkNorm::kPerHead; }

// Layers from max_window_layers on would have a window, unless layer_types says otherwise.
void refuse_windows(Fields& fields, const ModelConfig& config) {
  constexpr std::string_view kFull[] = {"full_attention"};
  if (fields.find("layer_types") != nullptr) {
    is_layer_list(fields, "layer_types", config.layers.size(), kFull);
    return;
  }
  constexpr const char* kFirst = "max_window_layers";
  const bool may_slide = fields.has("sliding_window") || !fields.contains("sliding_window");
  if (may_slide && fields.integer(kFirst, 0, kMaxLayers, 62) < config.n_layers())
    fields.refuse(kFirst, fmt::format("at least {}, the number of layers", config.n_layers()),
                  ErrorCode::kUnsupported);
}

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields, {.kv_heads_as_heads = true, .attention_bias = true}, config);
  refuse_windows(fields, config);
  read_routed_experts(fields, static_cast<int>(fields.integer(kDense, 0, kMaxLayers)), config);
  read_sigmoid_choice(fields, config);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  object[kDense] = n_dense_layers(config);
  object["sliding_window"] = nullptr;
  write_routed_experts(config, object);
}

void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
  gguf.attention_bias();
  translate_routed_experts(gguf);
  require_sigmoids(gguf);
  gguf.config()["sliding_window"] = nullptr;
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  LayerSpecs specs(config, layer);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  specs.queries_keys_values();
  specs.query_key_norms();
  specs.output();
  specs.norm("post_attention_layernorm", "ffn_norm", &LayerWeights::feed_forward_norm);
  add_routed_feed_forward(specs, config, layer);
  return specs.take();
}

ModelConfig dots_llm1() {
  ModelConfig config = shape_of(kDots1, {.vocab = 152064,
                                         .d_model = 4096,
                                         .n_layers = 62,
                                         .n_heads = 32,
                                         .n_kv_heads = 32,
                                         .d_ff = 10944});
  config.rotations[0].theta = 1e7;
  config.max_positions = 32768;
  config.eos_ids = {151645};
  config.experts = {.n_experts = 128,
                    .n_used = 6,
                    .d_ff = 1408,
                    .shared_d_ff = 2816,
                    .scores = RouterScores::kSigmoid,
                    .renormalised = true,
                    .weight_scale = 2.5f,
                    .choice_bias = true,
                    .n_group_best = 2};
  set_mixtures(1, config);
  return config;
}

ModelConfig tiny_dots1() {
  ModelConfig config =
      tiny_shape(kDots1, {.n_layers = 2, .head_dim = 16, .d_ff = 136, .tied = false});
  config.experts = {.n_experts = 8,
                    .n_used = 3,
                    .d_ff = 24,
                    .shared_d_ff = 48,
                    .scores = RouterScores::kSigmoid,
                    .renormalised = true,
                    .weight_scale = 1.5f,
                    .choice_bias = true,
                    .n_group_best = 2};
  set_mixtures(1, config);
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"dots.llm1", dots_llm1()}, {"tiny-dots1", tiny_dots1()}};
}

}  // namespace

const Family kDots1 = {.name = "dots1",
                       .architecture = "Dots1ForCausalLM",
                       .gguf_architecture = "dots1",
                       .offers = kRoutedFields,
                       .absent = kAbsent,
                       .fix = fix,
                       .read = read,
                       .write = write,
                       .translate = translate,
                       .layer_weights = layer_weights,
                       .shapes = shapes};

}  // namespace pando::model
