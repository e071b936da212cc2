// GGUF files made from checkpoints, by the published layout.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/gguf_writer.h"
#include "base/half.h"
#include "kernel/weight_types.h"
#include "model/checkpoint.h"
#include "model/config.h"
#include "model/gguf_experts.h"
#include "model/gguf_hybrid.h"
#include "model/gguf_latent.h"
#include "model/make_model.h"
#include "model/weight_specs.h"
#include "reference/reference_blocks.h"
#include "reference/reference_quantise.h"

namespace pando::testing {

struct GgufFileOptions {
  DType matrices = DType::kF32;  // f32, f16 and bf16 must be the checkpoint's; or q8_0, q4_0
  uint32_t version = 3;
  bool widens_alternate = false;  // every second matrix to f32, where they are the checkpoint's
  std::vector<std::string> mtp_tensors = {};  // of one block of multi-token prediction
  bool declares_mtp = true;                   // the file says that it has that block
  bool old_latents = false;                   // add_latent_keys
  bool fuses_experts = false;                 // gate and up of experts are one tensor
};

// Numbers of ggml's types.
inline uint32_t ggml_type(DType type) {
  switch (type) {
    case DType::kF32:
      return 0;
    case DType::kF16:
      return 1;
    case DType::kQ4_0:
      return 2;
    case DType::kQ4_1:
      return 3;
    case DType::kQ5_0:
      return 6;
    case DType::kQ5_1:
      return 7;
    case DType::kQ8_0:
      return 8;
    case DType::kQ3_K:
      return 11;
    case DType::kQ4_K:
      return 12;
    case DType::kQ5_K:
      return 13;
    case DType::kQ6_K:
      return 14;
    case DType::kIQ4_NL:
      return 20;
    case DType::kIQ4_XS:
      return 23;
    case DType::kMXFP4:
      return 39;
    default:
      return 30;
  }
}

inline std::string gguf_tensor_name(const model::ModelConfig& c, std::string name) {
  // Norms after attention, or so called.
  const bool post_norm = is_family(c, "olmo2") || is_family(c, "olmo3") ||
                         is_family(c, "seed_oss") || is_family(c, "gemma2") ||
                         is_family(c, "gemma3_text") || is_family(c, "gemma4_text") ||
                         is_family(c, "exaone4") || is_family(c, "gpt_oss") ||
                         is_family(c, "glm4_moe") || has_delta_net(c);
  const std::pair<const char*, const char*> parts[] = {
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
      {"input_layernorm", "attn_norm"},
      {"mlp.gate.e_score_correction_bias", "exp_probs_b.bias"},
      {"mlp.moe_statics.e_score_correction_bias", "exp_probs_b.bias"},
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
      {"linear_attn.", "mamba."},
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
      {"model.norm", "output_norm"},
      {"lm_head", "output"}};
  for (const auto& [from, to] : parts)
    if (const size_t at = name.find(from); at != std::string::npos)
      name.replace(at, std::strlen(from), to);
  return name;
}

inline std::vector<float> widened(const model::TensorView& view) {
  size_t n = 1;
  for (const int64_t size : view.shape) n *= static_cast<size_t>(size);
  std::vector<float> out(n);
  for (size_t i = 0; i < n; ++i) {
    uint16_t half;
    if (view.dtype == DType::kF32) {
      std::memcpy(&out[i], view.data + 4 * i, 4);
      continue;
    }
    std::memcpy(&half, view.data + 2 * i, 2);
    out[i] = view.dtype == DType::kF16 ? f16_to_f32(half) : bf16_to_f32(half);
  }
  return out;
}

// Blocks of 32: an f16 scale, then 32 integers or 16 pairs (element i low, element i + 16 high).
inline std::string quantised_blocks(const std::vector<float>& w, DType type) {
  std::string bytes;
  for (size_t i = 0; i < w.size(); i += 32) {
    const reference::Quantised group = reference::quantise(&w[i], 32, type);
    GgufWriter::append(&bytes, f32_to_f16(group.scale));
    for (int j = 0; j < (type == DType::kQ8_0 ? 32 : 16); ++j)
      bytes += static_cast<char>(
          type == DType::kQ8_0 ? group.q[j] : (group.q[j] + 8) + 16 * (group.q[j + 16] + 8));
  }
  return bytes;
}

inline bool is_in_blocks(DType type) { return type == DType::kQ8_0 || type == DType::kQ4_0; }

// Of f32, f16 or bf16.
inline std::string narrowed(const std::vector<float>& values, DType type) {
  std::string bytes;
  for (const float x : values) {
    if (type == DType::kF32)
      GgufWriter::append(&bytes, x);
    else
      GgufWriter::append(&bytes, type == DType::kF16 ? f32_to_f16(x) : f32_to_bf16(x));
  }
  return bytes;
}

// Architectures whose files hold a head's rows i and i + head_dim / 2 side by side, where
// checkpoints do not.
inline bool has_paired_rows(const model::ModelConfig& c) {
  for (const char* name :
       {"llama", "smollm3", "mistral3", "granite", "granitemoe", "granitehybrid"})
    if (c.family->gguf_architecture == std::string_view(name)) return true;
  return false;
}

// Rows of queries and keys as these files hold them.
inline std::string paired_rows(const std::string& bytes, int64_t n_rows, int head_dim) {
  const size_t row = bytes.size() / static_cast<size_t>(n_rows);
  std::string out;
  for (int64_t head = 0; head < n_rows; head += head_dim)
    for (int i = 0; i < head_dim / 2; ++i)
      for (const int half : {0, head_dim / 2})
        out += bytes.substr(static_cast<size_t>(head + half + i) * row, row);
  return out;
}

// Mistral's files are of the architecture llama.
inline std::string gguf_architecture(const model::ModelConfig& c) {
  return c.family->gguf_architecture;
}

// The window that every layer has, or 0.
inline int window_of_all(const model::ModelConfig& c) {
  for (const model::LayerConfig& layer : c.layers)
    if (layer.window != c.layers[0].window) return 0;
  return c.layers[0].window;
}

inline std::string f32_bytes(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// Whether files say which layers have a window.
inline bool says_windows(const model::ModelConfig& c) {
  return is_family(c, "olmo3") || is_family(c, "gemma2") || is_family(c, "cohere2") ||
         is_family(c, "gemma3_text") || is_family(c, "gemma4_text") || is_family(c, "exaone4");
}

// Of layers that see all, where those with a window have others.
inline int usual_head_dim(const model::ModelConfig& c) {
  return is_family(c, "gemma4_text") ? c.heads(c.n_layers() - 1).head_dim : c.head_dim;
}

// What layers have of their own.
inline void add_gemma4_keys(const model::ModelConfig& c, GgufWriter* out) {
  const std::string arch = gguf_architecture(c);
  int n_shared = 0;
  std::vector<int32_t> heads, widths;
  for (int i = 0; i < c.n_layers(); ++i) {
    n_shared += c.layers[i].keys_back > 0;
    heads.push_back(c.heads(i).n_kv);
    widths.push_back(c.d_ff_of(i));
  }
  out->uint32(arch + ".attention.shared_kv_layers", n_shared)
      .uint32(arch + ".embedding_length_per_layer_input", c.layer_input_dim)
      .uint32(arch + ".attention.value_length", usual_head_dim(c))
      .uint32(arch + ".attention.key_length_swa", c.head_dim)
      .uint32(arch + ".attention.value_length_swa", c.head_dim)
      .uint32(arch + ".rope.dimension_count_swa", c.head_dim)
      .numbers(arch + ".attention.head_count_kv", GgufType::kInt32, heads)
      .numbers(arch + ".feed_forward_length", GgufType::kInt32, widths);
  if (c.logit_cap > 0) out->float32(arch + ".final_logit_softcapping", c.logit_cap);
}

// Whether files give a window to layers that the family fixes.
inline bool fixes_windows(const model::ModelConfig& c) { return is_family(c, "gpt_oss"); }

inline void add_windows(const model::ModelConfig& c, GgufWriter* out) {
  const std::string arch = gguf_architecture(c);
  int window = window_of_all(c);
  std::vector<uint8_t> slides;
  for (const model::LayerConfig& layer : c.layers) {
    if (says_windows(c) || fixes_windows(c)) window = std::max(window, layer.window);
    slides.push_back(layer.window > 0);
  }
  if (window == 0) return;
  out->uint32(arch + ".attention.sliding_window", window);
  if (says_windows(c))
    out->numbers(arch + ".attention.sliding_window_pattern", GgufType::kBool, slides);
}

// Of single families.
inline void add_other_keys(const model::ModelConfig& c, GgufWriter* out) {
  const std::string arch = gguf_architecture(c);
  if (is_family(c, "granite") || is_family(c, "granitemoe") || is_family(c, "granitemoeshared"))
    out->float32(arch + ".embedding_scale", c.embedding_scale)
        .float32(arch + ".residual_scale", c.residual_scale)
        .float32(arch + ".attention.scale", c.attention_scale)
        .float32(arch + ".logit_scale", c.logit_divisor);
  if (is_family(c, "gemma2"))
    out->float32(arch + ".attn_logit_softcapping", c.score_cap)
        .float32(arch + ".final_logit_softcapping", c.logit_cap);
  if (is_family(c, "cohere2")) out->float32(arch + ".logit_scale", c.logit_scale);
  if (is_family(c, "gemma4_text")) add_gemma4_keys(c, out);
  if ((is_family(c, "olmo3") || is_family(c, "gemma3_text") || is_family(c, "gemma4_text")) &&
      c.rotations.size() > 1)
    out->float32(arch + ".rope.freq_base_swa", static_cast<float>(c.rotations[1].theta));
  if (c.rotations[0].query_growth > 0)
    out->float32(arch + ".attention.temperature_scale", c.rotations[0].query_growth);
}

// What is not the default; factors of frequencies are tensors.
inline void add_rope(const model::ModelConfig& c, GgufWriter* out) {
  const std::string arch = gguf_architecture(c), scaling = arch + ".rope.scaling.";
  const model::RopeConfig& rope = c.rotations[0];
  const bool is_granite = is_family(c, "granitemoehybrid");  // says it without rotation too
  const int dim = is_granite       ? c.head_dim
                  : c.has_latent() ? rope.rotary_dim(c.latent.rope_dim)
                                   : rope.rotary_dim(usual_head_dim(c));
  out->float32(arch + ".rope.freq_base", static_cast<float>(rope.theta));
  out->uint32(arch + ".rope.dimension_count", dim);
  if (rope.type == model::RopeType::kLinear || rope.type == model::RopeType::kYarn) {
    out->string(scaling + "type", rope.type == model::RopeType::kLinear ? "linear" : "yarn");
    out->float32(scaling + "factor", static_cast<float>(rope.factor));
  }
  if (rope.type == model::RopeType::kYarn && is_family(c, "ministral3") &&
      rope.attention_factor == 1.0)
    out->float32(scaling + "yarn_log_multiplier", 1.0f);
  if (rope.score_mscale > 0)
    out->float32(scaling + "yarn_log_multiplier", static_cast<float>(0.1 * rope.score_mscale));
  if (rope.type == model::RopeType::kYarn || rope.type == model::RopeType::kLongRope)
    out->uint32(scaling + "original_context_length", rope.original_positions);
  if (rope.type == model::RopeType::kLongRope) {
    out->float32(scaling + "attn_factor", static_cast<float>(rope.attention_factor));
    for (const auto& [name, factors] :
         {std::pair{"long", rope.long_factor}, {"short", rope.short_factor}})
      out->tensor(fmt::format("rope_factors_{}.weight", name), {dim / 2}, 0,
                  f32_bytes({factors.begin(), factors.end()}));
  }
  if (rope.type == model::RopeType::kProportional) {
    std::vector<float> factors(dim / 2, 1e30f);
    std::fill_n(factors.begin(), static_cast<int>(rope.rotary_share * dim / 2), 1.0f);
    out->tensor("rope_freqs.weight", {dim / 2}, 0, f32_bytes(factors));
  }
  if (rope.type != model::RopeType::kLlama3) return;
  std::vector<float> factors;  // not to the last bit: writers compute in f32
  for (int i = 0; i < dim; i += 2) {
    const double wavelength = 2 * M_PI * std::pow(rope.theta, static_cast<double>(i) / dim);
    const double low = rope.original_positions / rope.low_freq_factor;
    const double high = rope.original_positions / rope.high_freq_factor;
    const double smooth = (rope.original_positions / wavelength - rope.low_freq_factor) /
                          (rope.high_freq_factor - rope.low_freq_factor);
    factors.push_back(static_cast<float>(wavelength < high ? 1.0
                                         : wavelength > low
                                             ? rope.factor
                                             : (1 + 3e-6) / ((1 - smooth) / rope.factor + smooth)));
  }
  out->tensor("rope_freqs.weight", {dim / 2}, 0, f32_bytes(factors));
}

inline GgufWriter gguf_metadata(const model::ModelConfig& c, uint32_t version = 3,
                                int n_mtp_blocks = 0, bool old_latents = false) {
  const std::string arch = gguf_architecture(c);
  GgufWriter out(version);
  out.string("general.architecture", arch)
      .uint32(arch + ".embedding_length", c.d_model)
      .uint32(arch + ".block_count", c.n_layers() + n_mtp_blocks)
      .uint32(arch + ".attention.head_count", c.n_heads)
      .uint32(arch + ".context_length", c.max_positions)
      .float32(arch + (c.norm == model::Norm::kRms || is_family(c, "phimoe")
                           ? ".attention.layer_norm_rms_epsilon"
                           : ".attention.layer_norm_epsilon"),
               c.rms_eps);
  if (const int width = gguf_width(c); width > 0 && !is_family(c, "gemma4_text"))
    out.uint32(arch + ".feed_forward_length", width);
  add_expert_keys(c, &out);
  if (c.has_latent() || is_family(c, "glm4_moe")) add_routed_keys(c, &out);
  if (n_mtp_blocks > 0) out.uint32(arch + ".nextn_predict_layers", n_mtp_blocks);
  if (c.has_latent()) {
    add_latent_keys(c, old_latents, &out);
  } else {
    out.uint32(arch + ".attention.key_length", usual_head_dim(c));
  }
  if (c.recurrent.conv_taps > 0)
    add_hybrid_keys(c, &out);
  else if (!c.has_latent() && !is_family(c, "gemma4_text"))
    out.uint32(arch + ".attention.head_count_kv", c.n_kv_heads);
  add_windows(c, &out);
  add_other_keys(c, &out);
  add_rope(c, &out);
  if (c.bos_id) out.uint32("tokenizer.ggml.bos_token_id", *c.bos_id);
  if (!c.eos_ids.empty()) out.uint32("tokenizer.ggml.eos_token_id", c.eos_ids[0]);
  if (c.eos_ids.size() > 1) out.uint32("tokenizer.ggml.eot_token_id", c.eos_ids[1]);
  return out;
}

// The matrices of all experts of a layer: of the type that the options say, or, where rows are no
// whole number of its blocks, as stored. Or their biases.
inline void add_experts(const model::ModelConfig& c, const model::Checkpoint& checkpoint,
                        const model::WeightSpec& spec, const GgufFileOptions& options,
                        GgufWriter* out) {
  const model::WeightSpec first_stored = checkpoint.stored_as(spec)[0];
  const DType stored =
      checkpoint.tensor(first_stored.expert < 0 ? first_stored.of_expert(0) : first_stored)
          .value()
          .dtype;
  int64_t first = 0;
  for (const auto& [name, n] : expert_parts(c, spec, options.fuses_experts)) {
    model::TensorView view;
    std::string bytes;
    for (int expert = 0; expert < spec.shape[0]; ++expert)
      bytes += expert_rows(checkpoint, spec, expert, first, n);
    view.dtype = stored;
    view.shape = {spec.shape[0], n};
    const bool is_vector = spec.shape.size() == 2;
    if (!is_vector) view.shape.push_back(spec.shape[2]);
    view.data = reinterpret_cast<const std::byte*>(bytes.data());
    const bool keeps = is_vector || options.matrices == stored || spec.shape[2] % 32 != 0;
    const DType type = is_vector ? DType::kF32 : keeps ? stored : options.matrices;
    if (is_vector) bytes = f32_bytes(widened(view));
    out->tensor(name, view.shape, ggml_type(type),
                keeps ? bytes : quantised_blocks(widened(view), type));
    first += n;
  }
}

// The whole file. Vectors are f32, as every writer has them.
inline std::string gguf_of(const model::ModelConfig& c, const model::Checkpoint& checkpoint,
                           const GgufFileOptions& options) {
  GgufWriter out =
      gguf_metadata(c, options.version, options.declares_mtp && !options.mtp_tensors.empty(),
                    options.old_latents);
  for (const std::string& name : options.mtp_tensors)
    out.tensor(name, {4}, 0, std::string(16, '\0'));
  int n_matrices = 0;
  for (const model::WeightSpec& spec : model::weight_specs(c)) {
    if (is_of_experts(spec)) {
      add_experts(c, checkpoint, spec, options, &out);
      continue;
    }
    const model::TensorView view = checkpoint.tensor(spec.name, spec.shape).value();
    const std::vector<float> wide = hybrid_values(c, spec, widened(view));
    const bool stored = spec.shape.size() == 2 && options.matrices == view.dtype;
    std::string bytes = hybrid_order(
        c, spec, {reinterpret_cast<const char*>(view.data), view.n_bytes}, dtype_size(view.dtype));
    DType type = options.matrices;
    // As writers of files do.
    const bool is_wide = spec.part == model::LayerPart(&model::LayerWeights::router) ||
                         spec.part == model::LayerPart(&model::LayerWeights::choice_bias) ||
                         spec.part == model::LayerPart(&model::LayerWeights::shared_gate);
    if (spec.shape.size() != 2 || is_wide) {
      type = DType::kF32;
      bytes = f32_bytes(wide);
    } else if (stored && options.widens_alternate && n_matrices++ % 2 == 1) {
      type = DType::kF32;
      bytes = f32_bytes(wide);
    } else if (!stored && spec.shape[1] % 32 != 0) {
      type = view.dtype;  // as writers of files do
    } else if (!stored) {
      bytes = quantised_blocks(wide, options.matrices);
    }
    if (has_part(spec.name, "kv_b_proj") && !options.old_latents) {
      const std::string name = gguf_tensor_name(c, spec.name);
      for (const LatentPart& part : latent_parts(c, wide)) {
        const bool blocks = is_in_blocks(options.matrices) && part.shape.back() % 32 == 0;
        const DType own = blocks ? options.matrices : view.dtype;
        out.tensor(name.substr(0, name.find("attn_")) + part.name, part.shape, ggml_type(own),
                   blocks ? quantised_blocks(part.values, own) : narrowed(part.values, own));
      }
      continue;
    }
    const bool rotated =
        spec.name.find("q_proj") != spec.name.npos || spec.name.find("k_proj") != spec.name.npos;
    if (rotated && has_paired_rows(c)) bytes = paired_rows(bytes, spec.shape[0], c.head_dim);
    if (const auto parts = divided(c, spec); !parts.empty()) {
      const std::string name = gguf_tensor_name(c, spec.name);
      const std::string root = name.substr(0, name.find('.', std::strlen("blk.")) + 1);
      const size_t row = bytes.size() / static_cast<size_t>(spec.shape[0]);
      for (size_t first = 0; const auto& [part, n] : parts) {
        out.tensor(root + part, {n, spec.shape[1]}, ggml_type(type),
                   bytes.substr(first * row, n * row));
        first += n;
      }
      continue;
    }
    out.tensor(gguf_tensor_name(c, spec.name), hybrid_shape(c, spec), ggml_type(type), bytes);
  }
  return out.bytes();
}

// Random weights: of a type in blocks where rows are whole blocks of 256, but for every fourth
// matrix, else f32. type_of: those of single tensors, where they differ.
inline std::string random_gguf(
    const model::ModelConfig& c, uint64_t seed, DType type,
    const std::function<std::optional<DType>(std::string_view name)>& type_of = {}) {
  GgufWriter out = gguf_metadata(c, /*version=*/3, /*n_mtp_blocks=*/0, /*old_latents=*/true);
  int n_matrices = 0;
  const auto add = [&](const std::string& name, const model::WeightSpec& spec) {
    int64_t n = 1;
    for (const int64_t size : spec.shape) n *= size;
    const bool is_matrix = spec.shape.size() > 1 && spec.shape[0] > 1 && !name.ends_with(".bias");
    const std::optional<DType> given = type_of ? type_of(name) : std::nullopt;
    const bool blocks =
        given || (is_matrix && spec.shape.back() % 256 == 0 && n_matrices++ % 4 != 3);
    const DType own = given.value_or(type);
    std::vector<float> floats(blocks ? 0 : n);
    model::random_weights(seed, spec, 0, floats);
    out.tensor(name, spec.shape, ggml_type(blocks ? own : DType::kF32),
               blocks ? reference::random_blocks(own, n, seed++) : f32_bytes(floats));
  };
  for (const model::WeightSpec& spec : model::weight_specs(c)) {
    if (const auto parts = divided(c, spec); !parts.empty() && !c.has(model::Mixer::kMamba2)) {
      const std::string name = gguf_tensor_name(c, spec.name);
      for (const auto& [part, n] : parts) {
        model::WeightSpec own = spec;
        own.shape[0] = n;
        add(name.substr(0, name.find('.', std::strlen("blk.")) + 1) + part, own);
      }
      continue;
    }
    if (!is_of_experts(spec)) {
      add(gguf_tensor_name(c, spec.name), spec);
      continue;
    }
    for (const auto& [name, n] : expert_parts(c, spec)) {
      model::WeightSpec part = spec;
      part.name = name;
      part.shape[1] = n;
      add(name, part);
    }
  }
  return out.bytes();
}

}  // namespace pando::testing
