#include "model/families/latent.h"

#include <algorithm>
#include <cmath>

#include "base/errors.h"
#include "model/families/decoder_fields.h"

namespace pando::model {

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
                .rms_eps = usual.rms_eps,
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

void write_latent(const ModelConfig& config, nlohmann::ordered_json& object) {
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

void set_mixtures(int n_dense, ModelConfig& config) {
  for (int i = 0; i < config.n_layers(); ++i)
    config.layers[i].feed_forward = i < n_dense ? FeedForward::kDense : FeedForward::kExperts;
}

int n_dense_layers(const ModelConfig& config) {
  const auto first =
      std::ranges::find(config.layers, FeedForward::kExperts, &LayerConfig::feed_forward);
  return static_cast<int>(first - config.layers.begin());
}

void read_latent_experts(Fields& fields, int n_dense, ModelConfig& config) {
  set_mixtures(n_dense, config);
  if (!config.has(FeedForward::kExperts)) return;
  if (fields.integer("moe_layer_freq", 1, kMaxLayers, 1) != 1)
    fields.refuse("moe_layer_freq", "1", ErrorCode::kUnsupported);
  ExpertsConfig& e = config.experts;
  e.n_experts = static_cast<int>(fields.integer("n_routed_experts", 1, kMaxExperts));
  e.n_used = static_cast<int>(fields.integer("num_experts_per_tok", 1, kMaxUsedExperts));
  e.d_ff = static_cast<int>(fields.integer("moe_intermediate_size", 1, kMaxWidth));
  const int64_t shared = fields.integer("n_shared_experts", 0, kMaxExperts) * e.d_ff;
  if (shared > kMaxWidth)
    fields.refuse("n_shared_experts", fmt::format("at most {} inner channels in all", kMaxWidth));
  e.shared_d_ff = static_cast<int>(std::min(shared, kMaxWidth));
  e.weight_scale = static_cast<float>(fields.positive("routed_scaling_factor"));
}

void read_sigmoid_choice(Fields& fields, ModelConfig& config) {
  if (!config.has(FeedForward::kExperts)) return;
  for (const auto& [name, only] :
       {std::pair{"topk_method", "noaux_tc"}, {"scoring_func", "sigmoid"}})
    if (fields.string(name, only) != only)
      fields.refuse(name, fmt::format("\"{}\"", only), ErrorCode::kUnsupported);
  ExpertsConfig& e = config.experts;
  e.scores = RouterScores::kSigmoid;
  e.choice_bias = true;
  e.renormalised = fields.boolean("norm_topk_prob", true);
  e.n_groups = static_cast<int>(fields.integer("n_group", 1, kMaxExperts));
  e.n_groups_used = static_cast<int>(fields.integer("topk_group", 1, kMaxExperts));
  e.n_group_best = 2;
}

void write_latent_experts(const ModelConfig& config, nlohmann::ordered_json& object) {
  const ExpertsConfig& e = config.experts;
  if (e.n_experts == 0) return;
  object["n_routed_experts"] = e.n_experts;
  object["num_experts_per_tok"] = e.n_used;
  object["moe_intermediate_size"] = e.d_ff;
  object["n_shared_experts"] = e.shared_d_ff / e.d_ff;
  object["routed_scaling_factor"] = nlohmann::json::parse(fmt::format("{}", e.weight_scale));
  object["norm_topk_prob"] = e.renormalised;
  object["n_group"] = e.n_groups;
  object["topk_group"] = e.n_groups_used;
}

// Older files say no function; only sigmoids have a bias that is for the choice alone.
bool has_sigmoid_router(const GgufFile& gguf) {
  constexpr int64_t kSigmoid = 2;  // of llama.cpp's gating functions
  const auto function = gguf.integer("deepseek2.expert_gating_func");
  return (function.ok() && function->value_or(0) == kSigmoid) ||
         std::ranges::any_of(gguf.tensors(), [](const GgufTensor& tensor) {
           return tensor.name.ends_with(".exp_probs_b.bias");
         });
}

bool has_glm_tokenizer(const GgufFile& gguf) {
  const auto name = gguf.string("tokenizer.ggml.pre");
  return name.ok() && name->value_or("") == "glm4";
}

namespace {

void translate_latent_experts(GgufTranslator& gguf) {
  GgufFields& fields = gguf.fields();
  nlohmann::json& config = gguf.config();
  constexpr const char* kDense = "first_k_dense_replace";
  if (fields.integer("expert_count").value_or(0) == 0) {
    config[kDense] = config["num_hidden_layers"];
    fields.comes_from_same(kDense, "num_hidden_layers");
    return;
  }
  gguf.integer("expert_count", "n_routed_experts");
  gguf.integer("expert_used_count", "num_experts_per_tok");
  gguf.integer("expert_feed_forward_length", "moe_intermediate_size");
  const struct {
    const char *name, *field;
    int64_t otherwise;
  } counts[] = {{"leading_dense_block_count", kDense, 0},
                {"expert_shared_count", "n_shared_experts", 0},
                {"expert_group_count", "n_group", 1},
                {"expert_group_used_count", "topk_group", 1}};
  for (const auto& [name, field, otherwise] : counts)
    if (!fields.copy_integer(name, field, config)) config[field] = otherwise;
  constexpr const char* kScale = "expert_weights_scale";
  fields.comes_from_key("routed_scaling_factor", kScale);
  const double scale = fields.finite(kScale).value_or(0.0);
  config["routed_scaling_factor"] = scale == 0.0 ? 1.0 : scale;  // 0: none
  fields.comes_from_key("norm_topk_prob", "expert_weights_norm");
  config["norm_topk_prob"] = fields.boolean("expert_weights_norm").value_or(false);
}

}  // namespace

void translate_latent(GgufTranslator& gguf) {
  GgufFields& fields = gguf.fields();
  nlohmann::json& config = gguf.config();
  gguf.latent_heads();
  gguf.decoder();
  gguf.multi_token_blocks();
  if (!fields.status()) return;
  translate_latent_experts(gguf);
  // Files have a tenth of the multiplier, which rotations and scores share.
  constexpr const char* kMultiplier = "rope.scaling.yarn_log_multiplier";
  const auto scaling = config.find("rope_scaling");
  if (scaling == config.end() || scaling->value("rope_type", "") != "yarn") return;
  const double tenth = fields.finite(kMultiplier).value_or(0.0);
  if (tenth <= 0.0)
    return fields.refuse(kMultiplier, "a number above 0 with rope.scaling.type yarn");
  // In f32: seven digits of it are those that were written.
  (*scaling)["mscale_all_dim"] = std::stod(fmt::format("{:.7g}", 10.0 * tenth));
  (*scaling)["mscale"] = (*scaling)["mscale_all_dim"];
}

std::vector<WeightSpec> latent_layer(const ModelConfig& config, int layer) {
  const LatentConfig& l = config.latent;
  const int d = config.d_model, n_heads = config.n_heads, queries = n_heads * l.query_dim();
  // Channels that turn together are neighbours in files. A head's come behind those that do not
  // turn, which of the next head follow them.
  const RowOrder query_rows = {l.still_dim, l.rope_dim / 2, {1, 1}, l.still_dim};
  const RowOrder key_rows = {l.rank, l.rope_dim / 2, {1, 1}};
  LayerSpecs specs(config, layer);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  if (l.query_rank > 0) {
    specs.add("self_attn.q_a_proj.weight", "attn_q_a.weight", {l.query_rank, d},
              &LayerWeights::qkv);
    specs.add("self_attn.q_a_layernorm.weight", "attn_q_a_norm.weight", {l.query_rank},
              &LayerWeights::q_norm);
    WeightSpec& up = specs.add("self_attn.q_b_proj.weight", "attn_q_b.weight",
                               {queries, l.query_rank}, &LayerWeights::q_up);
    up.rows = up.gguf_rows = query_rows;
  } else {
    WeightSpec& q =
        specs.add("self_attn.q_proj.weight", "attn_q.weight", {queries, d}, &LayerWeights::qkv);
    q.rows = q.gguf_rows = query_rows;
  }
  WeightSpec& latents = specs.add("self_attn.kv_a_proj_with_mqa.weight", "attn_kv_a_mqa.weight",
                                  {l.rank + l.rope_dim, d}, &LayerWeights::qkv);
  latents.rows = latents.gguf_rows = key_rows;
  specs.add("self_attn.kv_a_layernorm.weight", "attn_kv_a_norm.weight", {l.rank},
            &LayerWeights::k_norm);
  specs
      .add("self_attn.kv_b_proj.weight", "attn_kv_b.weight", {n_heads * l.up_dim(), l.rank},
           &LayerWeights::latent_up)
      .gguf_parts = {
      {specs.gguf_name("attn_k_b.weight"), n_heads * l.rank, {n_heads, l.rank, l.still_dim}},
      {specs.gguf_name("attn_v_b.weight"), n_heads * l.value_dim, {n_heads, l.value_dim, l.rank}}};
  specs.add("self_attn.o_proj.weight", "attn_output.weight", {d, config.attended_dim(layer)},
            &LayerWeights::o);
  specs.norm("post_attention_layernorm", "ffn_norm", &LayerWeights::feed_forward_norm);
  if (config.layers[layer].feed_forward == FeedForward::kExperts) {
    specs.router();
    specs.experts();
  }
  if (config.layers[layer].feed_forward == FeedForward::kDense || config.experts.shared_d_ff > 0) {
    const bool is_dense = config.layers[layer].feed_forward == FeedForward::kDense;
    const char* module = is_dense ? "mlp" : "mlp.shared_experts";
    specs.gate_and_up(module);
    specs.down(module);
  }
  return specs.take();
}

// In checkpoints the layer behind the last one predicts further tokens.
std::string_view latent_passed_over(const ModelConfig& config, std::string_view tensor) {
  const bool is_behind = block_of(tensor) >= config.n_layers() ||
                         tensor.starts_with(layer_weight_name(config.n_layers(), ""));
  return is_behind ? kMultiToken : std::string_view();
}

}  // namespace pando::model
