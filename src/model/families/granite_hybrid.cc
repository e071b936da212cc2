// Granite 4.
#include "base/json.h"
#include "model/config_ranges.h"
#include "model/families/hooks.h"
#include "model/families/mamba.h"
#include "model/families/mixers.h"

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
  const Json *types = fields.find(kTypes), *other = fields.find(kOther);
  if (types != nullptr && other != nullptr && *types != *other)
    fields.refuse(kOther, fmt::format("the value of '{}'", kTypes));
  if (read_mixers(fields, kMixers, config, types != nullptr ? kTypes : kOther)) return;
  for (LayerConfig& layer : config.layers) layer.mixer = Mixer::kMamba2;
  refuse_no_attention(fields, kTypes, config);
}

}  // namespace

void read_granite_hybrid(Fields& fields, ModelConfig& config) {
  read_usual(fields, config);
  if (config.has(FeedForward::kExperts)) config.experts.shared_d_ff = config.d_ff;
  if (fields.string("position_embedding_type", "nope") != "rope")
    config.rotations = {{.rotary_share = 0.0}};
  read_layers(fields, config);
  if (config.n_recurrent_layers() > 0) read_states(fields, config);
}

void write_granite_hybrid(const ModelConfig& config, ordered_json& object) {
  write_usual(config, object);
  object[kGraniteSharedWidth] = config.d_ff;
  object["position_embedding_type"] = config.rotations[0].rotary_share > 0 ? "rope" : "nope";
  write_mixers(config, kMixers, object);
  if (config.n_recurrent_layers() == 0) return;
  write_mamba(kMamba, config, object);
  object["mamba_expand"] = config.recurrent.value_width() / config.d_model;
  object["mamba_proj_bias"] = false;
}

void translate_granite_hybrid(GgufTranslator& gguf) {
  gguf.layers_by_kv_heads("mamba");
  translate_usual(gguf);
  GgufFields& fields = gguf.fields();
  Json& config = gguf.config();
  if (!fields.status()) return;
  if (!fields.copy_integer("expert_shared_feed_forward_length", kGraniteSharedWidth, config))
    gguf.same(kGraniteSharedWidth, "intermediate_size");
  config["position_embedding_type"] =
      fields.boolean("rope.scaling.finetuned").value_or(true) ? "rope" : "nope";
  translate_mamba(gguf, kMamba);
  const int64_t width = fields.required_integer("ssm.inner_size"), d_model = config["hidden_size"];
  if (d_model < 1 || width % d_model != 0)
    return fields.refuse("ssm.inner_size",
                         fmt::format("a multiple of 'embedding_length' {}", d_model));
  config["mamba_expand"] = width / d_model;
  fields.comes_from_quotient("mamba_expand", "ssm.inner_size", "embedding_length");
}

bool add_granite_mamba(LayerSpecs& specs, const ModelConfig& config, int layer) {
  if (config.layers[layer].mixer != Mixer::kMamba2) return false;
  add_mamba(specs, config, "mamba");
  return true;
}

}  // namespace pando::model
