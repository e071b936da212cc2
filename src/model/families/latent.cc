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
  nlohmann::json& config = gguf.config();
  gguf.latent_heads();
  gguf.decoder();
  gguf.multi_token_blocks();
  if (!fields.status()) return;
  translate_routed_experts(gguf);
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
  add_routed_feed_forward(specs, config, layer);
  return specs.take();
}

}  // namespace pando::model
