// The keys of GGUF files, as writers of these files set them.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/gguf_writer.h"
#include "model/config.h"
#include "model/gguf_experts.h"
#include "model/gguf_hybrid.h"
#include "model/gguf_latent.h"
#include "model/gguf_values.h"

namespace pando::testing {

// Mistral's files are of the architecture llama.
// The window that every layer has, or 0.
inline int window_of_all(const model::ModelConfig& c) {
  for (const model::LayerConfig& layer : c.layers)
    if (layer.window != c.layers[0].window) return 0;
  return c.layers[0].window;
}

// True if the files of a family say which layers have a window.
inline bool says_windows(const model::ModelConfig& c) {
  return is_family(c, "olmo3") || is_family(c, "gemma2") || is_family(c, "cohere2") ||
         is_family(c, "gemma3_text") || is_family(c, "gemma4_text") || is_family(c, "exaone4");
}

// Head size of layers that see all; layers with a window may have another.
inline int usual_head_dim(const model::ModelConfig& c) {
  return is_family(c, "gemma4_text") ? c.heads(c.n_layers() - 1).head_dim : c.head_dim;
}

// Adds the keys of values that differ by layer.
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

// True if files give only the size of the window: the family fixes which layers have one.
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

// Adds the keys of single families.
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
  if (is_family(c, "cohere") || is_family(c, "cohere2"))
    out->float32(arch + ".logit_scale", c.logit_scale);
  if (is_family(c, "gemma4_text")) add_gemma4_keys(c, out);
  if ((is_family(c, "olmo3") || is_family(c, "gemma3_text") || is_family(c, "gemma4_text")) &&
      c.rotations.size() > 1)
    out->float32(arch + ".rope.freq_base_swa", static_cast<float>(c.rotations[1].theta));
  if (is_family(c, "qwen2_5_vl_text") || is_family(c, "qwen3_vl_text") ||
      is_family(c, "qwen3_vl_moe_text") || is_family(c, "glm4v_text") ||
      is_family(c, "glm4v_moe_text"))
    out->numbers(arch + ".rope.dimension_sections", GgufType::kInt32,
                 std::vector<int32_t>{4, 2, 2, 0});
  if (is_family(c, "qwen3_vl_text") || is_family(c, "qwen3_vl_moe_text"))
    out->uint32(arch + ".n_deepstack_layers", 3);
  if (is_family(c, "gpt_neox")) out->boolean(arch + ".use_parallel_residual", c.parallel);
  if (c.rotations[0].query_growth > 0)
    out->float32(arch + ".attention.temperature_scale", c.rotations[0].query_growth);
}

// Adds the keys of rotation that are not the default; factors of frequencies are tensors.
inline void add_rope(const model::ModelConfig& c, GgufWriter* out) {
  const std::string arch = gguf_architecture(c), scaling = arch + ".rope.scaling.";
  const model::RopeConfig& rope = c.rotations[0];
  // These families write the dimension without rotation too.
  const bool says_all = is_family(c, "granitemoehybrid") || is_family(c, "nemotron_h");
  const int dim = says_all         ? c.head_dim
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
  if (const int width = gguf_width(c);
      width > 0 && !is_family(c, "gemma4_text") && !is_family(c, "nemotron_h"))
    out.uint32(arch + ".feed_forward_length", width);
  add_expert_keys(c, &out);
  if (c.has_latent() || is_family(c, "glm4_moe") || is_family(c, "glm4v_moe_text") ||
      is_family(c, "dots1") || is_family(c, "nemotron_h"))
    add_routed_keys(c, &out);
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

}  // namespace pando::testing
