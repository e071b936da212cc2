// MiniMax-M2: one norm over all queries of a row and one over all keys; a part of a head's channels
// rotates; a mixture of experts in every layer, which sigmoids and a bias choose.
#include <algorithm>
#include <utility>

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

constexpr ExpertFields kExperts = {.n_experts = 256,
                                   .n_used = 8,
                                   .d_ff_name = "intermediate_size",
                                   .count_name = "num_local_experts"};
constexpr int kHeadDim = 128;
// Published files have it instead of partial_rotary_factor.
constexpr const char* kRotated = "rotary_dim";

void fix(ModelConfig& config) {
  config.qk_norm = QkNorm::kFullWidth;
  config.experts.scores = RouterScores::kSigmoid;
  config.experts.renormalised = true;
  config.experts.choice_bias = true;
}

// Channels of a head that rotate, where a file says their number and not their share.
double rotary_share(Fields& fields) {
  if (fields.find(kRotated) == nullptr) return 1.0;
  const int64_t head_dim = fields.integer("head_dim", kHeadSizes, kHeadDim);
  return static_cast<double>(fields.integer(kRotated, 2, head_dim)) / static_cast<double>(head_dim);
}

// Published files say these, and the library reads none of them.
void refuse_other_layers(Fields& fields) {
  const nlohmann::json* types = fields.find("attn_type_list");
  const bool is_list = types != nullptr && types->is_array();
  if (types != nullptr && !(is_list && std::ranges::all_of(*types, [](const nlohmann::json& type) {
                              return type == 1;
                            })))
    fields.refuse("attn_type_list", "a list of 1", ErrorCode::kUnsupported);
  for (const auto& [name, only] :
       {std::pair{"scoring_func", "sigmoid"}, {"qk_norm_type", "per_layer"}})
    if (fields.string(name, only) != only)
      fields.refuse(name, fmt::format("\"{}\"", only), ErrorCode::kUnsupported);
  for (const char* name : {"use_qk_norm", "use_routing_bias"})
    if (!fields.boolean(name, true)) fields.refuse(name, "true", ErrorCode::kUnsupported);
  for (const char* name : {"layernorm_full_attention_alpha", "layernorm_full_attention_beta",
                           "layernorm_mlp_alpha", "layernorm_mlp_beta"})
    if (fields.positive(name, 1.0) != 1.0) fields.refuse(name, "1", ErrorCode::kUnsupported);
  constexpr const char* kShared = "shared_intermediate_size";
  if (fields.integer(kShared, 0, kMaxWidth, 0) != 0)
    fields.refuse(kShared, "0", ErrorCode::kUnsupported);
}

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields,
               {.head_dim = kHeadDim,
                .rope = {.partial = true, .theta = 5e6, .rotary_share = rotary_share(fields)}},
               config);
  const int rotated = config.rotations[0].rotary_dim(config.head_dim);
  if (fields.integer(kRotated, 0, kMaxWidth, rotated) != rotated)
    fields.refuse(kRotated, fmt::format("{}, as 'partial_rotary_factor' says", rotated));
  refuse_window(fields, config);
  refuse_other_layers(fields);
  read_experts(fields, kExperts, config);
  if (config.experts.n_experts == 0) fields.refuse(kExperts.count_name, "at least 1");
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  write_experts(config, kExperts, object);
}

void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
  gguf.attention_bias();
  translate_experts(gguf, kExperts.d_ff_name);
  require_sigmoids(gguf);
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  LayerSpecs specs(config, layer);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  specs.queries_keys_values();
  specs.query_key_norms();
  specs.output();
  specs.norm("post_attention_layernorm", "ffn_norm", &LayerWeights::feed_forward_norm);
  specs.router("block_sparse_moe.gate", "block_sparse_moe.e_score_correction_bias");
  specs.experts(kMixtralExperts);
  return specs.take();
}

ModelConfig minimax_m2() {
  ModelConfig config = shape_of(kMiniMaxM2, {.vocab = 200064,
                                             .d_model = 3072,
                                             .n_layers = 62,
                                             .n_heads = 48,
                                             .n_kv_heads = 8,
                                             .d_ff = 1536});
  config.rms_eps = 1e-6f;
  config.rotations[0].theta = 5e6;
  config.rotations[0].rotary_share = 0.5;
  config.max_positions = 196608;
  config.eos_ids = {200020};
  set_experts(config, 256, 8, 1536);
  return config;
}

ModelConfig tiny_minimax_m2() {
  ModelConfig config =
      tiny_shape(kMiniMaxM2, {.n_layers = 2, .head_dim = 24, .d_ff = 24, .tied = false});
  config.rotations[0].rotary_share = 0.5;
  set_experts(config, 8, 3, 24);
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"minimax-m2", minimax_m2()}, {"tiny-minimax-m2", tiny_minimax_m2()}};
}

}  // namespace

const Family kMiniMaxM2 = {.name = "minimax_m2",
                           .architecture = "MiniMaxM2ForCausalLM",
                           .gguf_architecture = "minimax-m2",
                           .offers = kExpertOffers,
                           .fix = fix,
                           .read = read,
                           .write = write,
                           .translate = translate,
                           .layer_weights = layer_weights,
                           .shapes = shapes};

}  // namespace pando::model
