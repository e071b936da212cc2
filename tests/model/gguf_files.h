// GGUF files made from checkpoints, by the published layout.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "base/gguf_writer.h"
#include "base/half.h"
#include "model/checkpoint.h"
#include "model/config.h"
#include "reference/reference_quantise.h"

namespace pando::testing {

struct GgufFileOptions {
  DType matrices = DType::kF32;  // f32, f16 and bf16 must be the checkpoint's; or q8_0, q4_0
  uint32_t version = 3;
};

// Numbers of ggml's types.
inline uint32_t ggml_type(DType type) {
  return type == DType::kF32    ? 0
         : type == DType::kF16  ? 1
         : type == DType::kQ4_0 ? 2
         : type == DType::kQ8_0 ? 8
                                : 30;
}

inline std::string gguf_tensor_name(std::string name) {
  const std::pair<const char*, const char*> parts[] = {{"model.layers.", "blk."},
                                                       {"self_attn.q_proj", "attn_q"},
                                                       {"self_attn.k_proj", "attn_k"},
                                                       {"self_attn.v_proj", "attn_v"},
                                                       {"self_attn.o_proj", "attn_output"},
                                                       {"self_attn.q_norm", "attn_q_norm"},
                                                       {"self_attn.k_norm", "attn_k_norm"},
                                                       {"post_attention_layernorm", "ffn_norm"},
                                                       {"input_layernorm", "attn_norm"},
                                                       {"mlp.gate_proj", "ffn_gate"},
                                                       {"mlp.up_proj", "ffn_up"},
                                                       {"mlp.down_proj", "ffn_down"},
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

// Rows of queries and keys as files of the architecture llama hold them: a head's rows i and
// i + head_dim / 2 side by side.
inline std::string paired_rows(const std::string& bytes, int64_t n_rows, int head_dim) {
  const size_t row = bytes.size() / static_cast<size_t>(n_rows);
  std::string out;
  for (int64_t head = 0; head < n_rows; head += head_dim)
    for (int i = 0; i < head_dim / 2; ++i)
      for (const int half : {0, head_dim / 2})
        out += bytes.substr(static_cast<size_t>(head + half + i) * row, row);
  return out;
}

inline GgufWriter gguf_metadata(const model::ModelConfig& c, uint32_t version = 3) {
  const std::string arch = family_name(c.family);
  GgufWriter out(version);
  out.string("general.architecture", arch)
      .uint32(arch + ".embedding_length", c.d_model)
      .uint32(arch + ".block_count", c.n_layers)
      .uint32(arch + ".attention.head_count", c.n_heads)
      .uint32(arch + ".attention.head_count_kv", c.n_kv_heads)
      .uint32(arch + ".attention.key_length", c.head_dim)
      .uint32(arch + ".feed_forward_length", c.d_ff)
      .uint32(arch + ".context_length", c.max_positions)
      .float32(arch + ".attention.layer_norm_rms_epsilon", c.rms_eps)
      .float32(arch + ".rope.freq_base", static_cast<float>(c.rope.theta));
  if (c.bos_id) out.uint32("tokenizer.ggml.bos_token_id", *c.bos_id);
  if (!c.eos_ids.empty()) out.uint32("tokenizer.ggml.eos_token_id", c.eos_ids[0]);
  if (c.eos_ids.size() > 1) out.uint32("tokenizer.ggml.eot_token_id", c.eos_ids[1]);
  return out;
}

// The whole file. Vectors are f32, as every writer has them.
inline std::string gguf_of(const model::ModelConfig& c, const model::Checkpoint& checkpoint,
                           const GgufFileOptions& options) {
  GgufWriter out = gguf_metadata(c, options.version);
  for (const model::WeightSpec& spec : model::weight_specs(c)) {
    const model::TensorView view = checkpoint.tensor(spec.name, spec.shape).value();
    const std::vector<float> wide = widened(view);
    const bool stored = spec.shape.size() == 2 && options.matrices == view.dtype;
    std::string bytes(reinterpret_cast<const char*>(view.data), view.n_bytes);
    DType type = options.matrices;
    if (spec.shape.size() == 1) {
      type = DType::kF32;
      bytes.assign(reinterpret_cast<const char*>(wide.data()), wide.size() * sizeof(float));
    } else if (!stored && spec.shape[1] % 32 != 0) {
      type = view.dtype;  // as writers of files do
    } else if (!stored) {
      bytes = quantised_blocks(wide, options.matrices);
    }
    const bool rotated =
        spec.name.find("q_proj") != spec.name.npos || spec.name.find("k_proj") != spec.name.npos;
    if (rotated && c.family == model::Family::kLlama)
      bytes = paired_rows(bytes, spec.shape[0], c.head_dim);
    out.tensor(gguf_tensor_name(spec.name), spec.shape, ggml_type(type), bytes);
  }
  return out.bytes();
}

}  // namespace pando::testing
