// Qwen1.5 and Qwen2 with mixtures of experts and a gated shared expert; biases of queries, keys and
// values.
#include "base/errors.h"
#include "model/families/decoder_fields.h"
#include "model/families/experts.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr ExpertFields kExperts = {.n_experts = 60, .n_used = 4};
constexpr const char *kBias = "qkv_bias", *kSharedWidth = "shared_expert_intermediate_size",
                     *kRenormalised = "norm_topk_prob";

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields, {}, config);
  config.qkv_bias = fields.boolean(kBias, true);
  constexpr const char* kWindow = "use_sliding_window";
  if (fields.boolean(kWindow, false)) fields.refuse(kWindow, "false", ErrorCode::kUnsupported);
  read_layer_windows(fields, /*absent=*/0, config);
  read_experts(fields, kExperts, config);
  read_dense_layers(fields, config);
  read_shared_expert(fields, kSharedWidth, /*absent=*/5632, config);
  config.experts.shared_gate = config.experts.shared_d_ff > 0;
  config.experts.renormalised = fields.boolean(kRenormalised, false);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  write_experts(config, kExperts, object);
  write_dense_layers(config, object);
  object[kBias] = config.qkv_bias;
  object[kSharedWidth] = config.experts.shared_d_ff;
  object[kRenormalised] = config.experts.renormalised;
}

// A GGUF file has experts in every layer, and readers do not renormalise. Older files have no width
// but that of dense layers.
void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
  translate_experts(gguf);
  GgufFields& fields = gguf.fields();
  nlohmann::json& config = gguf.config();
  if (!fields.status()) return;
  constexpr const char *kWidth = "moe_intermediate_size", *kUsed = "num_experts_per_tok";
  if (!fields.has("expert_feed_forward_length") && config.value(kUsed, int64_t{0}) > 0) {
    config[kWidth] = config[kWidth].get<int64_t>() / config[kUsed].get<int64_t>();
    fields.comes_from_quotient(kWidth, "feed_forward_length", "expert_used_count");
  }
  if (!fields.copy_integer("expert_shared_feed_forward_length", kSharedWidth, config))
    gguf.same(kSharedWidth, "intermediate_size");
  config[kBias] = gguf.has_tensor(".attn_q.bias");
  config[kRenormalised] = false;
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  LayerSpecs specs(config, layer);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  specs.queries_keys_values();
  specs.output();
  specs.norm("post_attention_layernorm", "ffn_norm", &LayerWeights::feed_forward_norm);
  specs.feed_forward_and_shared();
  return specs.take();
}

ModelConfig qwen1_5_moe() {
  ModelConfig config = shape_of(kQwen2Moe, {.vocab = 151936,
                                            .d_model = 2048,
                                            .n_layers = 24,
                                            .n_heads = 16,
                                            .n_kv_heads = 16,
                                            .d_ff = 5632});
  config.rms_eps = 1e-6f;
  config.rotations[0].theta = 1e6;
  config.max_positions = 8192;
  config.qkv_bias = true;
  config.bos_id = 151643;
  config.eos_ids = {151643};
  set_experts(config, 60, 4, 1408);
  config.experts.shared_d_ff = 5632;
  config.experts.shared_gate = true;
  return config;
}

// Widths of experts follow from that of dense layers, as in Qwen1.5-MoE.
ModelConfig tiny_qwen2_moe() {
  ModelConfig config =
      tiny_shape(kQwen2Moe, {.n_layers = 2, .head_dim = 16, .d_ff = 108, .tied = false});
  config.qkv_bias = true;
  set_experts(config, 7, 3, 36);
  config.experts.shared_d_ff = 108;
  config.experts.shared_gate = true;
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"qwen1.5-moe-a2.7b", qwen1_5_moe()}, {"tiny-qwen2-moe", tiny_qwen2_moe()}};
}

}  // namespace

const Family kQwen2Moe = {.name = "qwen2_moe",
                          .architecture = "Qwen2MoeForCausalLM",
                          .gguf_architecture = "qwen2moe",
                          .offers = kExpertOffers,
                          .read = read,
                          .write = write,
                          .translate = translate,
                          .layer_weights = layer_weights,
                          .shapes = shapes};

}  // namespace pando::model
