// The functions that the rows of rows_mixtures.cc point to, but for latent attention (latent.cc).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/gguf.h"
#include "base/json.h"
#include "model/config_ranges.h"
#include "model/families/experts.h"
#include "model/families/hooks.h"
#include "model/families/layer_list.h"
#include "model/families/routed_experts.h"

namespace pando::model {
namespace {

using json = Json;

// The shortest decimal that reads back as this f32.
json number(float value) { return json::parse(fmt::format("{}", value)); }

// Phi-3.5-MoE.
constexpr const char *kJitter = "router_jitter_noise", *kHeadBias = "lm_head_bias";

}  // namespace

void read_phimoe(Fields& fields, ModelConfig& config) {
  read_usual(fields, config);
  config.head_bias = fields.boolean(kHeadBias, false);
  const json* jitter = fields.find(kJitter);
  const bool is_zero = jitter != nullptr && *jitter == 0.0;
  config.experts.mixer_jitter = is_zero ? 0.0f : static_cast<float>(fields.positive(kJitter, 0.01));
}

void write_phimoe(const ModelConfig& config, ordered_json& object) {
  write_usual(config, object);
  object[kHeadBias] = config.head_bias;
  object[kJitter] = number(config.experts.mixer_jitter);
  const RopeConfig& rope = config.rotations[0];
  if (rope.type != RopeType::kLongRope) return;
  for (const char* name : {"short_mscale", "long_mscale"})
    object["rope_scaling"][name] = rope.attention_factor;
}

void translate_phimoe(GgufTranslator& gguf) {
  translate_usual(gguf);
  gguf.config()[kHeadBias] = gguf.fields().file().find_tensor("output.bias") != nullptr;
}

// MiniMax-M2.

namespace {

// Published files have it instead of partial_rotary_factor.
constexpr const char* kRotated = "rotary_dim";

// Channels of a head that rotate, where a file says their number and not their share.
double rotary_share(Fields& fields, int usual_head_dim) {
  if (fields.find(kRotated) == nullptr) return 1.0;
  const int64_t head_dim = fields.integer("head_dim", kHeadSizes, usual_head_dim);
  return static_cast<double>(fields.integer(kRotated, 2, head_dim)) / static_cast<double>(head_dim);
}

}  // namespace

void read_minimax_m2(Fields& fields, ModelConfig& config) {
  DecoderFields decoder = config.family->decoder;
  decoder.rope.rotary_share = rotary_share(fields, decoder.head_dim);
  read_usual(fields, decoder, config);
  const int rotated = config.rotations[0].rotary_dim(config.head_dim);
  if (fields.integer(kRotated, 0, kMaxWidth, rotated) != rotated)
    fields.refuse(kRotated, fmt::format("{}, as 'partial_rotary_factor' says", rotated));
  // Published files say these, and the library reads none of them.
  const json* types = fields.find("attn_type_list");
  const auto is_usual = [](const json& type) { return type == 1; };
  if (types != nullptr && !(types->is_array() && std::ranges::all_of(*types, is_usual)))
    fields.refuse("attn_type_list", "a list of 1", ErrorCode::kUnsupported);
  if (fields.integer(kGraniteSharedWidth, 0, kMaxWidth, 0) != 0)
    fields.refuse(kGraniteSharedWidth, "0", ErrorCode::kUnsupported);
}

void translate_minimax_m2(GgufTranslator& gguf) {
  translate_usual(gguf);
  require_sigmoids(gguf);
}

// gpt-oss.

namespace {

constexpr const char *kLimit = "swiglu_limit", *kAlpha = "swiglu_alpha";

}  // namespace

void read_gpt_oss(Fields& fields, ModelConfig& config) {
  read_usual(fields, config);
  constexpr double kFactor = 32.0;
  if (fields.find("rope_parameters") == nullptr && fields.find("rope_scaling") == nullptr)
    config.rotations = {{.type = RopeType::kYarn,
                         .theta = kGptOssTheta,
                         .factor = kFactor,
                         .attention_factor = 0.1 * std::log(kFactor) + 1.0,
                         .original_positions = 4096,
                         .truncate = false}};
  config.activation_alpha = static_cast<float>(fields.positive(kAlpha, 1.702));
  config.activation_limit = static_cast<float>(fields.positive(kLimit, 7.0));
}

void write_gpt_oss(const ModelConfig& config, ordered_json& object) {
  write_usual(config, object);
  object[kAlpha] = number(config.activation_alpha);
  object[kLimit] = number(config.activation_limit);
}

void translate_gpt_oss(GgufTranslator& gguf) {
  translate_usual(gguf);
  // No key says it.
  if (gguf.config().contains("rope_scaling")) gguf.config()["rope_scaling"]["truncate"] = false;
}

std::vector<WeightSpec> gpt_oss_layer(const ModelConfig& config, int layer) {
  std::vector<WeightSpec> specs = usual_layer(config, layer);
  for (WeightSpec& spec : specs) {
    if (spec.role == Role::kExpertGateUp || spec.role == Role::kExpertGateUpBias)
      spec.rows = {0, config.experts.d_ff, {1, 1}};  // gates and ups by turns
    spec.transposed = spec.shape.size() == 3;
  }
  return specs;
}

// Qwen2-MoE. Older GGUF files have no width but that of dense layers.
void translate_qwen2_moe(GgufTranslator& gguf) {
  translate_usual(gguf);
  GgufFields& fields = gguf.fields();
  json& config = gguf.config();
  if (!fields.status()) return;
  constexpr const char *kWidth = "moe_intermediate_size", *kUsed = "num_experts_per_tok";
  if (fields.has("expert_feed_forward_length") || config.value(kUsed, int64_t{0}) <= 0) return;
  config[kWidth] = config[kWidth].get<int64_t>() / config[kUsed].get<int64_t>();
  fields.comes_from_quotient(kWidth, "feed_forward_length", "expert_used_count");
}

// Qwen3-VL-MoE. In a checkpoint only the shape of a matrix says whether it is transposed.
void read_qwen3_vl_moe(Fields& fields, ModelConfig& config) {
  read_usual(fields, config);
  if (config.origin.is_gguf) return;
  const int d_ff = config.experts.d_ff;
  if (config.has(FeedForward::kExperts) && (d_ff == config.d_model || 2 * d_ff == config.d_model))
    fields.refuse("moe_intermediate_size",
                  fmt::format("neither 'hidden_size' {} nor half of it, because it cannot be told "
                              "whether a square matrix is transposed",
                              config.d_model),
                  ErrorCode::kUnsupported);
}

// Granite.

bool has_granite_shared(const GgufFile& gguf) {
  const auto width = gguf.integer("granitemoe.expert_shared_feed_forward_length");
  return width.ok() && width->value_or(0) != 0;
}

// Router and experts, where the layer is a mixture, and what all rows pass: the shared expert, or
// the feed-forward of a dense layer.
void add_granite_feed_forward(LayerSpecs& specs, const ModelConfig& config, int layer) {
  const bool is_mixture = config.layers[layer].feed_forward == FeedForward::kExperts;
  if (is_mixture) {
    specs.router();
    specs.experts({.gate_up = "block_sparse_moe.input_linear.weight",
                   .down = "block_sparse_moe.output_linear.weight",
                   .module = nullptr});
  }
  const int d_ff = is_mixture ? config.experts.shared_d_ff : config.d_ff;
  if (d_ff == 0) return;
  specs.gate_up("shared_mlp.input_linear.weight");
  specs.add("shared_mlp.output_linear.weight",
            is_mixture ? "ffn_down_shexp.weight" : "ffn_down.weight", {config.d_model, d_ff},
            Role::kDown);
}

// dots.llm1. Layers from max_window_layers on would have a window, unless layer_types says
// otherwise.
void read_dots1(Fields& fields, ModelConfig& config) {
  read_usual(fields, config);
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

void write_dots1(const ModelConfig& config, ordered_json& object) {
  write_usual(config, object);
  object["sliding_window"] = nullptr;
}

// ERNIE 4.5 with experts.

namespace {

constexpr const char *kErnieCount = "moe_num_experts", *kErnieUsed = "moe_k",
                     *kErnieWidth = "moe_intermediate_size",
                     *kErnieShared = "moe_num_shared_experts", *kFirst = "moe_layer_start_index",
                     *kLast = "moe_layer_end_index", *kInterval = "moe_layer_interval";

}  // namespace

void read_ernie4_5_moe(Fields& fields, ModelConfig& config) {
  read_usual(fields, config);
  constexpr const char* kLeast = "moe_norm_min";
  if (fields.has(kLeast) && *fields.find(kLeast) != 1e-12)
    fields.refuse(kLeast, "1e-12", ErrorCode::kUnsupported);
  ExpertsConfig& e = config.experts;
  e.n_experts = static_cast<int>(fields.integer(kErnieCount, 1, kMaxExperts));
  e.n_used = static_cast<int>(fields.integer(kErnieUsed, 1, kMaxUsedExperts));
  e.d_ff = static_cast<int>(fields.integer(kErnieWidth, 1, kMaxWidth));
  read_shared_experts(fields, kErnieShared, config);
  // Every `interval`-th layer from the first to the last one; -1: up to the last of all.
  const int64_t first = fields.integer(kFirst, 0, kMaxLayers);
  const int64_t last = fields.integer(kLast, -1, kMaxLayers);
  const int64_t interval = fields.integer(kInterval, 1, kMaxLayers);
  for (int i = 0; i < config.n_layers(); ++i)
    if (i >= first && (i <= last || last == -1) && (i + 1) % interval == 0)
      config.layers[i].feed_forward = FeedForward::kExperts;
}

void write_ernie4_5_moe(const ModelConfig& config, ordered_json& object) {
  write_usual(config, object);
  const ExpertsConfig& e = config.experts;
  object[kErnieCount] = e.n_experts;
  object[kErnieUsed] = e.n_used;
  object[kErnieWidth] = e.d_ff;
  object[kErnieShared] = e.shared_d_ff / e.d_ff;
  std::vector<int> mixtures;
  for (int i = 0; i < config.n_layers(); ++i)
    if (config.layers[i].feed_forward == FeedForward::kExperts) mixtures.push_back(i);
  object[kFirst] = mixtures.empty() ? config.n_layers() : mixtures.front();
  object[kLast] = mixtures.empty() ? -1 : mixtures.back();
  object[kInterval] = mixtures.size() < 2 ? 1 : mixtures[1] - mixtures[0];
}

// A file has the width of all shared experts together.
void translate_ernie4_5_moe(GgufTranslator& gguf) {
  translate_usual(gguf);
  GgufFields& fields = gguf.fields();
  json& config = gguf.config();
  constexpr const char *kGgufWidth = "expert_feed_forward_length",
                       *kGgufShared = "expert_shared_feed_forward_length";
  gguf.integer("expert_count", kErnieCount);
  gguf.integer("expert_used_count", kErnieUsed);
  gguf.integer(kGgufWidth, kErnieWidth);
  gguf.integer("interleave_moe_layer_step", kInterval);
  if (!fields.copy_integer("leading_dense_block_count", kFirst, config)) config[kFirst] = 0;
  const int64_t one = fields.integer(kGgufWidth).value_or(1);
  const int64_t all = fields.integer(kGgufShared).value_or(0);
  if (one < 1 || all % one != 0)
    return fields.refuse(kGgufShared,
                         fmt::format("a multiple of '{}' {}", fields.key(kGgufWidth), one));
  config[kErnieShared] = all / one;
  fields.comes_from_quotient(kErnieShared, kGgufShared, kGgufWidth);
}

std::vector<WeightSpec> ernie4_5_moe_layer(const ModelConfig& config, int layer) {
  std::vector<WeightSpec> specs = usual_layer(config, layer);
  for (WeightSpec& spec : specs)
    if (spec.role == Role::kChoiceBias) spec.shape = {1, config.experts.n_experts};
  return specs;
}

// Checkpoints hold tensors for multi-token prediction beside the layers.
std::string_view ernie4_5_multi_token(const ModelConfig&, std::string_view tensor) {
  return tensor.starts_with("model.mtp_") ? kMultiToken : std::string_view();
}

// HunYuan with experts.

namespace {

constexpr const char *kCount = "num_experts", *kUsed = "moe_topk",
                     *kUsedToo = "num_experts_per_tok", *kWidth = "moe_intermediate_size",
                     *kShared = "num_shared_expert";

// A number, or a list that has it for each layer.
int of_all_layers(Fields& fields, const char* name, int64_t most, int fallback, int n_layers) {
  const json* value = fields.find(name);
  if (value == nullptr || !value->is_array())
    return static_cast<int>(fields.integer(name, 1, most, fallback));
  if (std::ssize(*value) != n_layers) {
    fields.refuse(name, fmt::format("a number, or a list of one for each of {} layers", n_layers));
    return fallback;
  }
  const json first = {{place_in(name, 0), value->front()}};
  Fields element(first, fields.source());
  const int64_t n = element.integer(place_in(name, 0), 1, most);
  fields.fail(element.status());
  for (size_t i = 1; i < value->size(); ++i)
    if ((*value)[i] != n) refuse_entry(fields, name, i, fmt::format("{}, as in layer 0", n));
  return static_cast<int>(n);
}

}  // namespace

void read_hunyuan_moe(Fields& fields, ModelConfig& config) {
  read_usual(fields, config);
  stretch_theta(fields, config);
  if (fields.integer("moe_layer_num_skipped", 0, kMaxLayers, 0) != 0)
    fields.refuse("moe_layer_num_skipped", "0", ErrorCode::kUnsupported);
  const int n_layers = config.n_layers();
  ExpertsConfig& e = config.experts;
  e.n_experts = static_cast<int>(fields.integer(kCount, 1, kMaxExperts, 1));
  e.n_used =
      of_all_layers(fields, fields.has(kUsed) ? kUsed : kUsedToo, kMaxUsedExperts, 1, n_layers);
  e.d_ff = e.shared_d_ff = config.d_ff;
  if (of_all_layers(fields, kWidth, kMaxWidth, config.d_ff, n_layers) != config.d_ff)
    fields.refuse(kWidth, fmt::format("'intermediate_size' {}", config.d_ff),
                  ErrorCode::kUnsupported);
  if (of_all_layers(fields, kShared, kMaxExperts, 1, n_layers) != 1)
    fields.refuse(kShared, "1", ErrorCode::kUnsupported);
  set_mixtures(0, config);
}

void write_hunyuan_moe(const ModelConfig& config, ordered_json& object) {
  write_usual(config, object);
  object[kCount] = config.experts.n_experts;
  object[kUsed] = config.experts.n_used;
}

void translate_hunyuan_moe(GgufTranslator& gguf) {
  translate_usual(gguf);
  translate_experts(gguf, {});
  constexpr const char* kSharedWidth = "expert_shared_feed_forward_length";
  const int64_t d_ff = gguf.config().value("intermediate_size", int64_t{0});
  if (gguf.fields().integer(kSharedWidth).value_or(d_ff) != d_ff)
    gguf.fields().refuse(kSharedWidth, fmt::format("'feed_forward_length' {}", d_ff),
                         ErrorCode::kUnsupported);
}

}  // namespace pando::model
