// HunYuan, dense: RMSNorm of each query and key, after the rotation; theta may be stretched.
#include <cmath>
#include <optional>

#include "base/errors.h"
#include "model/families/decoder_fields.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr const char* kExperts = "num_experts";
constexpr std::string_view kOffers[] = {kExperts};

void fix(ModelConfig& config) { config.qk_norm = QkNorm::kPerHeadTurned; }

double stretched(double theta, double alpha, int head_dim) {
  return theta * std::pow(alpha, head_dim / (head_dim - 2.0));
}

void stretch_theta(Fields& fields, ModelConfig& config) {
  std::optional<double> alpha;
  for (const char* name : {"rope_parameters", "rope_scaling"}) {
    const nlohmann::json* object = fields.find(name);
    if (object == nullptr || !object->is_object()) continue;
    Fields rope(*object, fmt::format("{}: '{}'", fields.source(), name));
    const double found = rope.positive("alpha", 1.0);
    fields.fail(rope.status());
    if (alpha && *alpha != found) fields.refuse(name, "the same alpha as in 'rope_parameters'");
    alpha = found;
  }
  double& theta = config.rotations[0].theta;
  theta = stretched(theta, alpha.value_or(1.0), config.head_dim);
}

void read(Fields& fields, ModelConfig& config) {
  read_decoder(
      fields,
      {.kv_heads_as_heads = true, .rms_eps = 1e-5, .attention_bias = true, .rope = {.alpha = true}},
      config);
  stretch_theta(fields, config);
  refuse_window(fields, config);
  // One expert is none.
  if (fields.integer(kExperts, 0, kMaxWidth, 1) > 1)
    fields.refuse(kExperts, "at most 1", ErrorCode::kUnsupported);
  if (!fields.boolean("use_qk_norm", true))
    fields.refuse("use_qk_norm", "true", ErrorCode::kUnsupported);
  if (fields.boolean("use_cla", false)) fields.refuse("use_cla", "false", ErrorCode::kUnsupported);
}

// A GGUF file has the stretched theta.
void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
  gguf.attention_bias();
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  LayerSpecs specs(config, layer);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  specs.queries_keys_values();
  specs.query_key_norms("self_attn.query_layernorm", "self_attn.key_layernorm");
  specs.output();
  specs.norm("post_attention_layernorm", "ffn_norm", &LayerWeights::feed_forward_norm);
  specs.gate_and_up();
  specs.down();
  return specs.take();
}

ModelConfig hunyuan_1_8b() {
  ModelConfig config = shape_of(kHunYuan, {.vocab = 120818,
                                           .d_model = 2048,
                                           .n_layers = 32,
                                           .n_heads = 16,
                                           .n_kv_heads = 4,
                                           .d_ff = 6144});
  config.rotations[0].theta = stretched(1e4, 1000, config.head_dim);
  config.max_positions = 262144;
  config.tied_embeddings = true;
  config.eos_ids = {120020};
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"hunyuan-1.8b", hunyuan_1_8b()},
          {"tiny-hunyuan",
           tiny_shape(kHunYuan, {.n_layers = 2, .head_dim = 16, .d_ff = 176, .tied = false})}};
}

}  // namespace

const Family kHunYuan = {.name = "hunyuan_v1_dense",
                         .architecture = "HunYuanDenseV1ForCausalLM",
                         .gguf_architecture = "hunyuan-dense",
                         .offers = kOffers,
                         .fix = fix,
                         .read = read,
                         .translate = translate,
                         .layer_weights = layer_weights,
                         .shapes = shapes};

}  // namespace pando::model
