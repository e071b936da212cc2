// LFM2, dense: short convolutions, and attention in some layers; tensors have names of their own.
#include <cmath>

#include "base/errors.h"
#include "model/config_ranges.h"
#include "model/families/decoder_fields.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/mixers.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr NamedMixer kMixers[] = {{"conv", Mixer::kShortConv},
                                  {"full_attention", Mixer::kAttention}};

void fix(ModelConfig& config) { config.qk_norm = QkNorm::kPerHead; }

// The width of the feed-forward part: as it stands, or two thirds of it, times a factor, rounded
// up.
int adjusted_width(Fields& fields, int stated) {
  if (!fields.boolean("block_auto_adjust_ff_dim", true)) return stated;
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
  const nlohmann::json* indices = fields.find(kName);
  if (indices == nullptr) return;  // all have attention
  if (!indices->is_array()) return fields.refuse(kName, "a list of indices of layers");
  for (LayerConfig& layer : config.layers) layer.mixer = Mixer::kShortConv;
  for (size_t i = 0; i < indices->size(); ++i) {
    const nlohmann::json& index = (*indices)[i];
    if (!index.is_number_unsigned() || index.get<uint64_t>() >= config.layers.size())
      return fields.fail(place_in(kName, i), index,
                         fmt::format("the index of a layer, below {}", config.n_layers()));
    config.layers[index.get<size_t>()].mixer = Mixer::kAttention;
  }
  refuse_no_attention(fields, kName, config);
}

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields,
               {.rms_eps = 1e-5,
                .rms_eps_name = "norm_eps",
                .d_ff_name = fields.has("block_ff_dim") ? "block_ff_dim" : "intermediate_size",
                .d_ff_sizes = {1, kMaxWidth},  // another width is made of it
                .tied = true,
                .rope = {.theta = 1e6}},
               config);
  config.tied_embeddings = fields.boolean("tie_embedding", config.tied_embeddings);
  config.d_ff = adjusted_width(fields, config.d_ff);
  if (fields.find("sliding_window") != nullptr)
    fields.refuse("sliding_window", "null for lfm2", ErrorCode::kUnsupported);
  if (fields.boolean("conv_bias", false))
    fields.refuse("conv_bias", "false", ErrorCode::kUnsupported);
  config.recurrent.conv_taps = static_cast<int>(fields.integer("conv_L_cache", kConvTaps, 3));
  if (!read_mixers(fields, kMixers, config)) read_attention_indices(fields, config);
  if (config.n_recurrent_layers() == 0) config.recurrent = {};
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  object["norm_eps"] = object["rms_norm_eps"];
  object.erase("rms_norm_eps");
  object["block_auto_adjust_ff_dim"] = false;
  object["conv_bias"] = false;
  if (config.recurrent.conv_taps > 0) object["conv_L_cache"] = config.recurrent.conv_taps;
  write_mixers(config, kMixers, object);
}

void translate(GgufTranslator& gguf) {
  gguf.layers_by_kv_heads("conv");
  gguf.decoder();
  gguf.no_window();
  gguf.attention_bias();
  gguf.same("norm_eps", "rms_norm_eps");
  gguf.config()["block_auto_adjust_ff_dim"] = false;
  gguf.integer("shortconv.l_cache", "conv_L_cache");
}

std::vector<WeightSpec> layer_weights(const ModelConfig& c, int layer) {
  LayerSpecs specs(c, layer);
  specs.norm("operator_norm", "attn_norm", &LayerWeights::attention_norm);
  if (c.layers[layer].mixer == Mixer::kShortConv) {
    specs.add("conv.in_proj.weight", "shortconv.in_proj.weight", {3 * c.d_model, c.d_model},
              &LayerWeights::qkv);
    specs.add("conv.conv.weight", "shortconv.conv.weight", {c.d_model, 1, c.recurrent.conv_taps},
              &LayerWeights::conv);
    specs.add("conv.out_proj.weight", "shortconv.out_proj.weight", {c.d_model, c.d_model},
              &LayerWeights::o);
  } else {
    specs.queries_keys_values();
    specs.query_key_norms("self_attn.q_layernorm", "self_attn.k_layernorm");
    specs.output("self_attn.out_proj");
  }
  specs.norm("ffn_norm", "ffn_norm", &LayerWeights::feed_forward_norm);
  specs.add("feed_forward.w1.weight", "ffn_gate.weight", {c.d_ff, c.d_model},
            &LayerWeights::gate_up);
  specs.add("feed_forward.w3.weight", "ffn_up.weight", {c.d_ff, c.d_model}, &LayerWeights::gate_up);
  specs.add("feed_forward.w2.weight", "ffn_down.weight", {c.d_model, c.d_ff}, &LayerWeights::down);
  return specs.take();
}

void last_norm(WeightSpec& spec) {
  spec.name = "model.embedding_norm.weight";
  spec.gguf_name = "token_embd_norm.weight";  // a wrong name that all files have
}

void set_attention(std::initializer_list<int> layers, ModelConfig& config) {
  for (LayerConfig& layer : config.layers) layer.mixer = Mixer::kShortConv;
  for (const int layer : layers) config.layers[layer].mixer = Mixer::kAttention;
}

ModelConfig lfm2_350m() {
  ModelConfig config = shape_of(kLfm2, {.vocab = 65536,
                                        .d_model = 1024,
                                        .n_layers = 16,
                                        .n_heads = 16,
                                        .n_kv_heads = 8,
                                        .d_ff = 4608,
                                        .head_dim = 64});
  set_attention({2, 5, 8, 10, 12, 14}, config);
  config.rotations[0].theta = 1e6;
  config.max_positions = 128000;
  config.tied_embeddings = true;
  config.bos_id = 1;
  config.eos_ids = {7};
  config.recurrent.conv_taps = 3;
  return config;
}

ModelConfig tiny_lfm2() {
  ModelConfig config =
      tiny_shape(kLfm2, {.n_layers = 4, .head_dim = 16, .d_ff = 168, .tied = true});
  set_attention({1, 3}, config);
  config.recurrent.conv_taps = 3;
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"lfm2-350m", lfm2_350m()}, {"tiny-lfm2", tiny_lfm2()}};
}

}  // namespace

const Family kLfm2 = {.name = "lfm2",
                      .architecture = "Lfm2ForCausalLM",
                      .gguf_architecture = "lfm2",
                      .fix = fix,
                      .read = read,
                      .write = write,
                      .translate = translate,
                      .layer_weights = layer_weights,
                      .last_norm = last_norm,
                      .shapes = shapes};

}  // namespace pando::model
