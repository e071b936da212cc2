// Granite 4: Mamba2, and attention in some layers; a dense feed-forward, beside which there may be
// a mixture of experts; multipliers of embeddings, of what layers add, of attention and of logits.
#include <initializer_list>

#include "model/config_ranges.h"
#include "model/families/decoder_fields.h"
#include "model/families/granite_experts.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/mamba.h"
#include "model/families/mixers.h"
#include "model/families/multipliers.h"
#include "model/families/shapes.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

// The library has given the kinds of layers other names since.
constexpr NamedMixer kMixers[] = {{"mamba", Mixer::kMamba2},
                                  {"attention", Mixer::kAttention},
                                  {"linear_attention", Mixer::kMamba2},
                                  {"full_attention", Mixer::kAttention}};
constexpr MambaNames kMamba = {.conv_taps = "mamba_d_conv",
                               .n_groups = "mamba_n_groups",
                               .state_dim = "mamba_d_state",
                               .n_heads = "mamba_n_heads",
                               .head_dim = "mamba_d_head",
                               .conv_bias = "mamba_conv_bias"};
constexpr const char* kAbsent = R"({
  "mamba_d_conv": 4, "mamba_n_groups": 1, "mamba_n_heads": 128, "mamba_d_state": 256
})";

void read_states(Fields& fields, ModelConfig& config) {
  const int64_t width = fields.integer("mamba_expand", 1, kMaxWidth, 2) * config.d_model;
  read_mamba(fields, kMamba, config, width);
  const RecurrentConfig& r = config.recurrent;
  if (int64_t{r.n_heads} * r.value_dim != width)
    fields.refuse("mamba_n_heads",
                  fmt::format("a divisor of 'mamba_expand' x 'hidden_size', which is {}, with "
                              "'mamba_d_head' as the quotient",
                              width));
  if (fields.boolean("mamba_proj_bias", false))
    fields.refuse("mamba_proj_bias", "false", ErrorCode::kUnsupported);
  refuse_time_limits(fields);
}

// `layers_block_type` is another name of `layer_types`. Without either, no layer has attention.
void read_layers(Fields& fields, ModelConfig& config) {
  constexpr const char *kTypes = "layer_types", *kOther = "layers_block_type";
  const nlohmann::json *types = fields.find(kTypes), *other = fields.find(kOther);
  if (types != nullptr && other != nullptr && *types != *other)
    fields.refuse(kOther, fmt::format("the value of '{}'", kTypes));
  if (read_mixers(fields, kMixers, config, types != nullptr ? kTypes : kOther)) return;
  for (LayerConfig& layer : config.layers) layer.mixer = Mixer::kMamba2;
  refuse_no_attention(fields, kTypes, config);
}

void read(Fields& fields, ModelConfig& config) {
  read_decoder(
      fields, {.kv_heads_as_heads = true, .d_ff_name = kGraniteSharedWidth, .attention_bias = true},
      config);
  read_multipliers(fields, config);
  read_experts(fields, kGraniteExperts, config);
  if (config.has(FeedForward::kExperts)) config.experts.shared_d_ff = config.d_ff;
  if (fields.string("position_embedding_type", "nope") != "rope")
    config.rotations = {{.rotary_share = 0.0}};
  read_layers(fields, config);
  if (config.n_recurrent_layers() > 0) read_states(fields, config);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  object[kGraniteSharedWidth] = config.d_ff;
  write_experts(config, kGraniteExperts, object);
  object["position_embedding_type"] = config.rotations[0].rotary_share > 0 ? "rope" : "nope";
  write_multipliers(config, object);
  write_mixers(config, kMixers, object);
  if (config.n_recurrent_layers() == 0) return;
  write_mamba(kMamba, config, object);
  object["mamba_expand"] = config.recurrent.value_width() / config.d_model;
  object["mamba_proj_bias"] = false;
}

void translate(GgufTranslator& gguf) {
  gguf.layers_by_kv_heads("mamba");
  gguf.decoder();
  gguf.no_window();
  gguf.attention_bias();
  GgufFields& fields = gguf.fields();
  nlohmann::json& config = gguf.config();
  if (!fields.status()) return;
  translate_experts(gguf, kGraniteExperts.d_ff_name);
  if (!fields.copy_integer("expert_shared_feed_forward_length", kGraniteSharedWidth, config))
    gguf.same(kGraniteSharedWidth, "intermediate_size");
  config["position_embedding_type"] =
      fields.boolean("rope.scaling.finetuned").value_or(true) ? "rope" : "nope";
  translate_multipliers(gguf);
  translate_mamba(gguf, kMamba);
  const int64_t width = fields.required_integer("ssm.inner_size"), d_model = config["hidden_size"];
  if (d_model < 1 || width % d_model != 0)
    return fields.refuse("ssm.inner_size",
                         fmt::format("a multiple of 'embedding_length' {}", d_model));
  config["mamba_expand"] = width / d_model;
  fields.comes_from_quotient("mamba_expand", "ssm.inner_size", "embedding_length");
}

std::vector<WeightSpec> layer_weights(const ModelConfig& c, int layer) {
  LayerSpecs specs(c, layer, RowPairs::kGguf);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  if (c.layers[layer].mixer == Mixer::kMamba2) {
    add_mamba(specs, c, "mamba");
  } else {
    specs.queries_keys_values();
    specs.output();
  }
  specs.norm("post_attention_layernorm", "ffn_norm", &LayerWeights::feed_forward_norm);
  add_granite_feed_forward(specs, c, layer);
  return specs.take();
}

void set_attention(std::initializer_list<int> layers, ModelConfig& config) {
  for (LayerConfig& layer : config.layers) layer.mixer = Mixer::kMamba2;
  for (const int layer : layers) config.layers[layer].mixer = Mixer::kAttention;
}

ModelConfig granite_350m() {
  ModelConfig config = shape_of(kGraniteHybrid, {.vocab = 100352,
                                                 .d_model = 768,
                                                 .n_layers = 32,
                                                 .n_heads = 12,
                                                 .n_kv_heads = 4,
                                                 .d_ff = 2048,
                                                 .head_dim = 64});
  set_attention({10, 13, 17, 27}, config);
  config.rotations = {{.rotary_share = 0.0}};
  config.max_positions = 32768;
  config.tied_embeddings = true;
  config.bos_id = 100257;
  config.eos_ids = {100257};
  config.embedding_scale = 12.0f;
  config.residual_scale = 0.246f;
  config.attention_scale = 0.015625f;
  config.logit_divisor = 3.0f;
  config.recurrent = {.conv_taps = 4,
                      .n_key_heads = 1,
                      .n_heads = 48,
                      .key_dim = 128,
                      .value_dim = 32,
                      .conv_bias = true};
  return config;
}

// Two groups, and states of more than one slice, which no published file has.
ModelConfig tiny_granite() {
  ModelConfig config =
      tiny_shape(kGraniteHybrid, {.n_layers = 4, .head_dim = 16, .d_ff = 152, .tied = true});
  set_attention({1, 3}, config);
  config.rotations = {{.rotary_share = 0.0}};
  config.embedding_scale = 3.0f;
  config.residual_scale = 0.7f;
  config.attention_scale = 0.125f;
  config.logit_divisor = 2.0f;
  config.recurrent = {.conv_taps = 4,
                      .n_key_heads = 2,
                      .n_heads = 4,
                      .key_dim = 24,
                      .value_dim = 32,
                      .conv_bias = true};
  return config;
}

ModelConfig tiny_granite_moe_hybrid() {
  ModelConfig config = tiny_granite();
  set_experts(config, 6, 3, 28);
  config.experts.shared_d_ff = config.d_ff;
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"granite-4.0-h-350m", granite_350m()},
          {"tiny-granite", tiny_granite()},
          {"tiny-granite-moe-hybrid", tiny_granite_moe_hybrid()}};
}

}  // namespace

const Family kGraniteHybrid = {.name = "granitemoehybrid",
                               .architecture = "GraniteMoeHybridForCausalLM",
                               .gguf_architecture = "granitehybrid",
                               .offers = kGraniteExpertOffers,
                               .absent = kAbsent,
                               .fix = fix_granite_experts,
                               .read = read,
                               .write = write,
                               .translate = translate,
                               .layer_weights = layer_weights,
                               .shapes = shapes};

}  // namespace pando::model
