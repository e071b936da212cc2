// Names of tensors in GGUF files, for those of checkpoints.
#pragma once

#include <cstring>
#include <string>
#include <utility>

#include "model/config.h"
#include "model/gguf_hybrid.h"

namespace pando::testing {

inline std::string gguf_tensor_name(const model::ModelConfig& c, std::string name) {
  // Norms after attention, or so called.
  const bool post_norm =
      is_family(c, "olmo2") || is_family(c, "olmo3") || is_family(c, "seed_oss") ||
      is_family(c, "gemma2") || is_family(c, "gemma3_text") || is_family(c, "gemma4_text") ||
      is_family(c, "exaone4") || is_family(c, "gpt_oss") || is_family(c, "glm4_moe") ||
      is_family(c, "glm4v_moe_text") || has_delta_net(c);
  const bool one_norm = is_family(c, "nemotron_h") && !has_part(name, "mixer.");
  const std::pair<const char*, const char*> parts[] = {
      {one_norm ? ".norm.weight" : "input_layernorm", one_norm ? ".attn_norm.weight" : "attn_norm"},
      {"model.embed_tokens_per_layer", "per_layer_token_embd"},
      {"model.per_layer_model_projection", "per_layer_model_proj"},
      {"model.per_layer_projection_norm", "per_layer_proj_norm"},
      {"post_per_layer_input_norm", "post_norm"},
      {"per_layer_input_gate", "inp_gate"},
      {"per_layer_projection", "proj"},
      {"layer_scalar", "layer_output_scale.weight"},
      {"model.layers.", "blk."},
      {"self_attn.q_a_proj", "attn_q_a"},
      {"self_attn.q_a_layernorm", "attn_q_a_norm"},
      {"self_attn.q_b_proj", "attn_q_b"},
      {"self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa"},
      {"self_attn.kv_a_layernorm", "attn_kv_a_norm"},
      {"self_attn.kv_b_proj", "attn_kv_b"},
      {"self_attn.q_proj", "attn_q"},
      {"self_attn.k_proj", "attn_k"},
      {"self_attn.v_proj", "attn_v"},
      {"self_attn.qkv_proj", "attn_qkv"},
      {"self_attn.o_proj", "attn_output"},
      {"attention.query_key_value", "attn_qkv"},
      {"attention.dense.", "attn_output."},
      {"self_attn.dense.", "attn_output."},
      {"mlp.dense_h_to_4h", "ffn_up"},
      {"mlp.dense_4h_to_h", "ffn_down"},
      {"mlp.c_fc", "ffn_up"},
      {"mlp.c_proj", "ffn_down"},
      {"mlp.fc1", "ffn_up"},
      {"mlp.fc2", "ffn_down"},
      {"self_attn.q_norm", "attn_q_norm"},
      {"self_attn.k_norm", "attn_k_norm"},
      {"self_attn.query_layernorm", "attn_q_norm"},
      {"self_attn.key_layernorm", "attn_k_norm"},
      {"post_attention_layernorm", post_norm ? "post_attention_norm" : "ffn_norm"},
      {"post_feedforward_layernorm", "post_ffw_norm"},
      {"pre_feedforward_layernorm_2", "pre_ffw_norm_2"},
      {"pre_feedforward_layernorm", "ffn_norm"},
      {"post_self_attn_layernorm", "post_attention_norm"},
      {"post_mlp_layernorm", "post_ffw_norm"},
      {"mlp.gate.e_score_correction_bias", "exp_probs_b.bias"},
      {"mlp.moe_statics.e_score_correction_bias", "exp_probs_b.bias"},
      {"block_sparse_moe.e_score_correction_bias", "exp_probs_b.bias"},
      {"mlp.shared_experts.gate_proj", "ffn_gate_shexp"},
      {"mlp.shared_experts.up_proj", "ffn_up_shexp"},
      {"mlp.shared_experts.down_proj", "ffn_down_shexp"},
      {"mlp.shared_mlp.gate_proj", "ffn_gate_shexp"},
      {"mlp.shared_mlp.up_proj", "ffn_up_shexp"},
      {"mlp.shared_mlp.down_proj", "ffn_down_shexp"},
      {"mlp.shared_expert_gate", "ffn_gate_inp_shexp"},
      {"mlp.shared_expert.gate_proj", "ffn_gate_shexp"},
      {"mlp.shared_expert.up_proj", "ffn_up_shexp"},
      {"mlp.shared_expert.down_proj", "ffn_down_shexp"},
      {"mlp.gate.wg", "ffn_gate_inp"},
      {"mlp.gate.", "ffn_gate_inp."},
      {"mlp.router.", "ffn_gate_inp."},
      {"router.proj.", "ffn_gate_inp."},
      {"router.scale", "ffn_gate_inp.scale"},
      {"router.per_expert_scale", "ffn_down_exps.scale"},
      {"self_attn.sinks", "attn_sinks.weight"},
      {"block_sparse_moe.gate.", "ffn_gate_inp."},
      {"feed_forward.gate.", "ffn_gate_inp."},
      {"feed_forward.expert_bias", "exp_probs_b.bias"},
      {"block_sparse_moe.router.layer.", "ffn_gate_inp."},
      {"mlp.gate_up_proj", "ffn_up"},
      {"mlp.gate_proj", "ffn_gate"},
      {"mlp.up_proj", "ffn_up"},
      {"mlp.down_proj", "ffn_down"},
      {"linear_attn.in_proj_qkv", "attn_qkv"},
      {"linear_attn.in_proj_z", "attn_gate"},
      {"linear_attn.in_proj_ba", "ssm_ba"},
      {"linear_attn.in_proj_b", "ssm_beta"},
      {"linear_attn.in_proj_a", "ssm_alpha"},
      {"mixer.q_proj", "attn_q"},
      {"mixer.k_proj", "attn_k"},
      {"mixer.v_proj", "attn_v"},
      {"mixer.o_proj", "attn_output"},
      {"mixer.gate.e_score_correction_bias", "exp_probs_b.bias"},
      {"mixer.gate.", "ffn_gate_inp."},
      {"mixer.shared_experts.up_proj", "ffn_up_shexp"},
      {"mixer.shared_experts.down_proj", "ffn_down_shexp"},
      {"mixer.up_proj", "ffn_up"},
      {"mixer.down_proj", "ffn_down"},
      {"linear_attn.", "mamba."},
      {"mixer.", "mamba."},
      {"mamba.in_proj", "ssm_in"},
      {"mamba.conv1d", "ssm_conv1d"},
      {"mamba.A_log", "ssm_a"},
      {"mamba.D", "ssm_d"},
      {"mamba.dt_bias", "ssm_dt.bias"},
      {"mamba.norm", "ssm_norm"},
      {"mamba.out_proj", "ssm_out"},
      {"shared_mlp.output_linear", c.experts.n_experts > 0 ? "ffn_down_shexp" : "ffn_down"},
      {"operator_norm", "attn_norm"},
      {"self_attn.out_proj", "attn_output"},
      {"self_attn.q_layernorm", "attn_q_norm"},
      {"self_attn.k_layernorm", "attn_k_norm"},
      {".conv.", ".shortconv."},
      {"feed_forward.w1", "ffn_gate"},
      {"feed_forward.w2", "ffn_down"},
      {"feed_forward.w3", "ffn_up"},
      {"model.embedding_norm", "token_embd_norm"},
      {"model.embed_tokens", "token_embd"},
      {"model.embeddings", "token_embd"},
      {"model.embed_in", "token_embd"},
      {"model.final_layer_norm", "output_norm"},
      {"model.final_layernorm", "output_norm"},
      {"model.norm_f", "output_norm"},
      {"model.norm", "output_norm"},
      {"lm_head", "output"}};
  for (const auto& [from, to] : parts)
    if (const size_t at = name.find(from); at != std::string::npos)
      name.replace(at, std::strlen(from), to);
  return name;
}

}  // namespace pando::testing
