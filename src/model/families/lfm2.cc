// LFM2: short convolutions, and attention in some layers; tensors have names of their own.
#include <algorithm>

#include "base/errors.h"
#include "base/json.h"
#include "model/config_ranges.h"
#include "model/families/experts.h"
#include "model/families/hooks.h"
#include "model/families/mixers.h"

namespace pando::model {
namespace {

constexpr NamedMixer kMixers[] = {{"conv", Mixer::kShortConv},
                                  {"full_attention", Mixer::kAttention}};
constexpr const char *kDense = "num_dense_layers", *kBias = "use_expert_bias",
                     *kRenormalised = "norm_topk_prob", *kScale = "routed_scaling_factor",
                     *kAdjusts = "block_auto_adjust_ff_dim";

// The width of the feed-forward part: as it stands, or two thirds of it, times a factor, rounded
// up.
int adjusted_width(Fields& fields, int stated) {
  if (!fields.boolean(kAdjusts, true)) return stated;
  int64_t width = int64_t{stated} * 2 / 3;
  constexpr const char* kFactor = "block_ffn_dim_multiplier";
  // Null means no factor and no rounding.
  if (fields.contains(kFactor) && !fields.has(kFactor)) return static_cast<int>(width);
  const double factor = fields.positive(kFactor, 1.0);
  const int64_t multiple = fields.integer("block_multiple_of", 1, kMaxWidth, 256);
  if (factor > 1e3) fields.refuse(kFactor, "a number in (0, 1000]");
  width = static_cast<int64_t>(std::min(factor, 1e3) * static_cast<double>(width));
  return static_cast<int>(std::min((width + multiple - 1) / multiple * multiple, 2 * kMaxWidth));
}

// Older files list the layers with attention.
void read_attention_indices(Fields& fields, ModelConfig& config) {
  constexpr const char* kName = "full_attn_idxs";
  const Json* indices = fields.find(kName);
  if (indices == nullptr) return;  // all have attention
  if (!indices->is_array()) return fields.refuse(kName, "a list of indices of layers");
  for (LayerConfig& layer : config.layers) layer.mixer = Mixer::kShortConv;
  for (size_t i = 0; i < indices->size(); ++i) {
    const Json& index = (*indices)[i];
    if (!index.is_number_unsigned() || index.get<uint64_t>() >= config.layers.size())
      return fields.fail(place_in(kName, i), index,
                         fmt::format("the index of a layer, below {}", config.n_layers()));
    config.layers[index.get<size_t>()].mixer = Mixer::kAttention;
  }
  refuse_no_attention(fields, kName, config);
}

// All fields but those of the feed-forward part.
void read_layers(Fields& fields, const DecoderFields& decoder, ModelConfig& config) {
  read_usual(fields, decoder, config);
  config.tied_embeddings = fields.boolean("tie_embedding", config.tied_embeddings);
  config.recurrent.conv_taps = static_cast<int>(fields.integer("conv_L_cache", kConvTaps, 3));
  if (!read_mixers(fields, kMixers, config)) read_attention_indices(fields, config);
  if (config.n_recurrent_layers() == 0) config.recurrent = {};
}

void write_layers(const ModelConfig& config, ordered_json& object) {
  write_usual(config, object);
  object["conv_bias"] = false;
  if (config.recurrent.conv_taps > 0) object["conv_L_cache"] = config.recurrent.conv_taps;
  write_mixers(config, kMixers, object);
}

void translate_layers(GgufTranslator& gguf) {
  gguf.layers_by_kv_heads("conv");
  translate_usual(gguf);
  gguf.integer("shortconv.l_cache", "conv_L_cache");
}

}  // namespace

// Another width may be made of the one that the file states.
void read_lfm2(Fields& fields, ModelConfig& config) {
  DecoderFields decoder = config.family->decoder;
  if (fields.has("block_ff_dim")) decoder.d_ff_name = "block_ff_dim";
  decoder.d_ff_sizes = {1, kMaxWidth};
  read_layers(fields, decoder, config);
  config.d_ff = adjusted_width(fields, config.d_ff);
}

void write_lfm2(const ModelConfig& config, ordered_json& object) {
  write_layers(config, object);
  object[kAdjusts] = false;
}

void translate_lfm2(GgufTranslator& gguf) {
  translate_layers(gguf);
  gguf.config()[kAdjusts] = false;
}

void read_lfm2_moe(Fields& fields, ModelConfig& config) {
  read_layers(fields, config.family->decoder, config);
  ExpertsConfig& e = config.experts;
  if (e.n_experts == 0) return;
  set_mixtures(static_cast<int>(fields.integer(kDense, 0, kMaxLayers, 2)), config);
  e.choice_bias = fields.boolean(kBias, true);
  e.renormalised = fields.boolean(kRenormalised, true);
  e.weight_scale = static_cast<float>(fields.positive(kScale, 1.0));
}

void write_lfm2_moe(const ModelConfig& config, ordered_json& object) {
  const ExpertsConfig& e = config.experts;
  write_layers(config, object);
  object[kDense] = n_dense_layers(config);
  object[kBias] = e.choice_bias;
  object[kRenormalised] = e.renormalised;
  object[kScale] = Json::parse(fmt::format("{}", e.weight_scale));
}

// Readers renormalise.
void translate_lfm2_moe(GgufTranslator& gguf) {
  translate_layers(gguf);
  require_sigmoids(gguf);
  Json& config = gguf.config();
  if (!gguf.fields().copy_integer("leading_dense_block_count", kDense, config)) config[kDense] = 0;
  config[kBias] = gguf.has_tensor(".exp_probs_b.bias");
  config[kRenormalised] = true;
}

bool add_short_conv(LayerSpecs& specs, const ModelConfig& c, int layer) {
  if (c.layers[layer].mixer != Mixer::kShortConv) return false;
  specs.add("conv.in_proj.weight", "shortconv.in_proj.weight", {3 * c.d_model, c.d_model},
            Role::kQkv);
  specs.add("conv.conv.weight", "shortconv.conv.weight", {c.d_model, 1, c.recurrent.conv_taps},
            Role::kConv);
  specs.add("conv.out_proj.weight", "shortconv.out_proj.weight", {c.d_model, c.d_model}, Role::kO);
  return true;
}

void add_lfm2_feed_forward(LayerSpecs& specs, const ModelConfig& c, int layer) {
  if (c.layers[layer].feed_forward == FeedForward::kExperts) return specs.feed_forward();
  specs.add("feed_forward.w1.weight", "ffn_gate.weight", {c.d_ff, c.d_model}, Role::kGateUp);
  specs.add("feed_forward.w3.weight", "ffn_up.weight", {c.d_ff, c.d_model}, Role::kGateUp);
  specs.add("feed_forward.w2.weight", "ffn_down.weight", {c.d_model, c.d_ff}, Role::kDown);
}

}  // namespace pando::model
