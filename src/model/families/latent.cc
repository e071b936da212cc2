// Latent attention: DeepSeek-V2, DeepSeek-V3 and GLM-4.7-Flash.
#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "base/gguf.h"
#include "base/json.h"
#include "model/families/decoder_fields.h"
#include "model/families/experts.h"
#include "model/families/hooks.h"
#include "model/families/layer_list.h"
#include "model/families/routed_experts.h"

namespace pando::model {
namespace {

constexpr const char *kDense = "first_k_dense_replace", *kMethod = "topk_method",
                     *kGrouped = "group_limited_greedy", *kTypes = "mlp_layer_types";

// The transformers library takes these where a field is absent.
struct LatentFields {
  int query_rank = 1536;
  int still_dim = 128;
  int value_dim = 128;
};

void set_latent(const LatentConfig& latent, ModelConfig& config) {
  config.latent = latent;
  config.n_kv_heads = 1;
  config.head_dim = latent.rank + latent.rope_dim;
  const double root = std::sqrt(static_cast<double>(latent.query_dim()));
  config.attention_scale = static_cast<float>(config.rotations[0].score_factor() / root);
}

void read_latent(Fields& fields, const LatentFields& usual, ModelConfig& config) {
  const auto size = [&](const char* name, int64_t fallback) {
    return static_cast<int>(fields.integer(name, 1, kMaxWidth, fallback));
  };
  LatentConfig latent;
  latent.rank = size("kv_lora_rank", 512);
  latent.still_dim = size("qk_nope_head_dim", usual.still_dim);
  latent.rope_dim = size("qk_rope_head_dim", 64);
  latent.value_dim = size("v_head_dim", usual.value_dim);
  constexpr const char* kQueryRank = "q_lora_rank";
  const bool is_null = fields.contains(kQueryRank) && !fields.has(kQueryRank);
  latent.query_rank = is_null ? 0 : size(kQueryRank, usual.query_rank);
  read_decoder(fields,
               {.head_dim = latent.rope_dim,
                .kv_heads_as_heads = true,
                .rms_eps = config.family->decoder.rms_eps,
                .rope = {.score_mscale = true}},
               config);
  if (config.head_dim != latent.rope_dim)
    fields.refuse("head_dim", fmt::format("'qk_rope_head_dim' {}", latent.rope_dim));
  if (config.n_kv_heads != config.n_heads)
    fields.refuse("num_key_value_heads", fmt::format("'num_attention_heads' {}", config.n_heads));
  if (!fields.boolean("rope_interleave", true))
    fields.refuse("rope_interleave", "true", ErrorCode::kUnsupported);
  set_latent(latent, config);
}

// Reads how DeepSeek-V2 chooses experts.
void read_choice(Fields& fields, ExpertsConfig& experts) {
  const std::string method = fields.string(kMethod, "greedy");
  if (method != "greedy" && method != kGrouped)
    fields.refuse(kMethod, "greedy or group_limited_greedy", ErrorCode::kUnsupported);
  if (fields.string("scoring_func", "softmax") != "softmax")
    fields.refuse("scoring_func", "\"softmax\"", ErrorCode::kUnsupported);
  if (fields.boolean("norm_topk_prob", false))
    fields.refuse("norm_topk_prob", "false", ErrorCode::kUnsupported);
  if (method != kGrouped) return;
  experts.n_groups = static_cast<int>(fields.integer("n_group", 1, kMaxExperts));
  experts.n_groups_used = static_cast<int>(fields.integer("topk_group", 1, kMaxExperts));
}

// Layers of GLM-4.7-Flash are dense, then sparse. Files say it by a list or by the number of dense
// ones, or not.
int read_n_dense(Fields& fields, int n_layers) {
  const Json* types = fields.find(kTypes);
  int n_dense = 1;
  constexpr std::string_view kWords[] = {"dense", "sparse"};
  if (types != nullptr && is_layer_list(fields, kTypes, n_layers, kWords)) {
    n_dense = static_cast<int>(std::ranges::count(*types, "dense"));
    for (int i = 0; i < n_layers; ++i)
      if (((*types)[i] == "dense") != (i < n_dense))
        fields.fail(
            in_file(fields.source(),
                    unsupported("'{}' has dense layers after sparse ones, expected none", kTypes)));
  }
  if (fields.integer(kDense, 0, kMaxLayers, n_dense) != n_dense)
    fields.refuse(kDense, fmt::format("{}, the number of dense layers in '{}'", n_dense, kTypes),
                  ErrorCode::kUnsupported);
  return n_dense;
}

}  // namespace

void read_deepseek_v2(Fields& fields, ModelConfig& config) {
  read_latent(fields, {}, config);
  read_routed(fields, *config.family->routed, config);
  if (config.has(FeedForward::kExperts)) read_choice(fields, config.experts);
}

void read_deepseek_v3(Fields& fields, ModelConfig& config) {
  read_latent(fields, {}, config);
  read_routed(fields, *config.family->routed, config);
}

void read_glm4_moe_lite(Fields& fields, ModelConfig& config) {
  read_latent(fields, {.query_rank = 768, .still_dim = 192, .value_dim = 256}, config);
  read_routed_experts(fields, read_n_dense(fields, config.n_layers()), config);
  read_sigmoid_choice(fields, config);
}

void write_latent(const ModelConfig& config, nlohmann::ordered_json& object) {
  write_usual(config, object);
  const LatentConfig& latent = config.latent;
  object["num_key_value_heads"] = config.n_heads;
  object["head_dim"] = latent.rope_dim;
  object["kv_lora_rank"] = latent.rank;
  object["q_lora_rank"] = nullptr;
  if (latent.query_rank > 0) object["q_lora_rank"] = latent.query_rank;
  object["qk_nope_head_dim"] = latent.still_dim;
  object["qk_rope_head_dim"] = latent.rope_dim;
  object["v_head_dim"] = latent.value_dim;
}

void write_deepseek_v2(const ModelConfig& config, nlohmann::ordered_json& object) {
  write_latent(config, object);
  object[kMethod] = config.experts.n_groups > 1 ? kGrouped : "greedy";
}

void write_glm4_moe_lite(const ModelConfig& config, nlohmann::ordered_json& object) {
  write_latent(config, object);
  object.erase(kDense);
  object[kTypes] = Json::array();
  for (const LayerConfig& layer : config.layers)
    object[kTypes].push_back(layer.feed_forward == FeedForward::kDense ? "dense" : "sparse");
}

// Older files say no function; only sigmoids have a bias that is for the choice alone.
bool has_sigmoid_router(const GgufFile& gguf) {
  const auto function = gguf.integer(fmt::format("deepseek2.{}", kGatingFunction));
  return (function.ok() && function->value_or(0) == kGgufSigmoid) ||
         std::ranges::any_of(gguf.tensors(), [](const GgufTensor& tensor) {
           return tensor.name.ends_with(".exp_probs_b.bias");
         });
}

bool has_glm_tokenizer(const GgufFile& gguf) {
  const auto name = gguf.string("tokenizer.ggml.pre");
  return name.ok() && name->value_or("") == "glm4";
}

void translate_latent(GgufTranslator& gguf) {
  GgufFields& fields = gguf.fields();
  Json& config = gguf.config();
  gguf.latent_heads();
  translate_usual(gguf);
  if (!fields.status()) return;
  // Files have a tenth of the multiplier, which rotations and scores share.
  constexpr const char* kMultiplier = "rope.scaling.yarn_log_multiplier";
  const auto scaling = config.find("rope_scaling");
  if (scaling == config.end() || scaling->value("rope_type", "") != "yarn") return;
  const double tenth = fields.finite(kMultiplier).value_or(0.0);
  if (tenth <= 0.0)
    return fields.refuse(kMultiplier, "a number above 0 with rope.scaling.type yarn");
  // Rounded to f32, of which seven digits are those that were written.
  (*scaling)["mscale_all_dim"] = std::stod(fmt::format("{:.7g}", 10.0 * tenth));
  (*scaling)["mscale"] = (*scaling)["mscale_all_dim"];
}

void translate_deepseek_v2(GgufTranslator& gguf) {
  translate_latent(gguf);
  if (gguf.config().value("n_group", 1) > 1) gguf.config()[kMethod] = kGrouped;
}

void translate_glm4_moe_lite(GgufTranslator& gguf) {
  translate_latent(gguf);
  Json& config = gguf.config();
  if (!gguf.fields().status()) return;
  const int64_t n_layers = config["num_hidden_layers"], n_dense = config[kDense];
  config[kTypes] = Json::array();
  for (int64_t i = 0; i < std::min(n_layers, kMaxLayers); ++i)
    config[kTypes].push_back(i < n_dense ? "dense" : "sparse");
  gguf.fields().comes_from_same(kTypes, kDense);
}

bool add_latent(LayerSpecs& specs, const ModelConfig& config, int layer) {
  const LatentConfig& l = config.latent;
  const int d = config.d_model, n_heads = config.n_heads, queries = n_heads * l.query_dim();
  // Channels that turn together are neighbours in files. A head's come behind those that do not
  // turn, which of the next head follow them.
  const RowOrder query_rows = {l.still_dim, l.rope_dim / 2, {1, 1}, l.still_dim};
  const RowOrder key_rows = {l.rank, l.rope_dim / 2, {1, 1}};
  if (l.query_rank > 0) {
    specs.add("self_attn.q_a_proj.weight", "attn_q_a.weight", {l.query_rank, d}, Role::kQkv);
    specs.add("self_attn.q_a_layernorm.weight", "attn_q_a_norm.weight", {l.query_rank},
              Role::kQNorm);
    WeightSpec& up = specs.add("self_attn.q_b_proj.weight", "attn_q_b.weight",
                               {queries, l.query_rank}, Role::kQUp);
    up.rows = up.gguf_rows = query_rows;
  } else {
    WeightSpec& q = specs.add("self_attn.q_proj.weight", "attn_q.weight", {queries, d}, Role::kQkv);
    q.rows = q.gguf_rows = query_rows;
  }
  WeightSpec& latents = specs.add("self_attn.kv_a_proj_with_mqa.weight", "attn_kv_a_mqa.weight",
                                  {l.rank + l.rope_dim, d}, Role::kQkv);
  latents.rows = latents.gguf_rows = key_rows;
  specs.add("self_attn.kv_a_layernorm.weight", "attn_kv_a_norm.weight", {l.rank}, Role::kKNorm);
  specs
      .add("self_attn.kv_b_proj.weight", "attn_kv_b.weight", {n_heads * l.up_dim(), l.rank},
           Role::kLatentUp)
      .gguf_parts = {
      {specs.gguf_name("attn_k_b.weight"), n_heads * l.rank, {n_heads, l.rank, l.still_dim}},
      {specs.gguf_name("attn_v_b.weight"), n_heads * l.value_dim, {n_heads, l.value_dim, l.rank}}};
  specs.add("self_attn.o_proj.weight", "attn_output.weight", {d, config.attended_dim(layer)},
            Role::kO);
  return true;
}

}  // namespace pando::model
