// Models with latent attention in GGUF files, by the published layout.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/gguf_writer.h"
#include "model/config.h"
#include "model/family.h"
#include "model/gguf_hybrid.h"

namespace pando::testing {

// `old`: sizes of heads as they would be without a latent, and keys and values of heads together.
inline void add_latent_keys(const model::ModelConfig& c, bool old, GgufWriter* out) {
  const std::string attention = std::string(c.family->gguf_architecture) + ".attention.";
  const model::LatentConfig& l = c.latent;
  out->uint32(attention + "kv_lora_rank", l.rank);
  if (l.query_rank > 0) out->uint32(attention + "q_lora_rank", l.query_rank);
  out->uint32(attention + "key_length", old ? l.query_dim() : c.head_dim)
      .uint32(attention + "value_length", old ? l.value_dim : l.rank)
      .uint32(attention + "head_count_kv", old ? c.n_heads : 1);
  if (!old)
    out->uint32(attention + "key_length_mla", l.query_dim())
        .uint32(attention + "value_length_mla", l.value_dim);
  if (is_family(c, "glm4_moe_lite")) out->string("tokenizer.ggml.pre", "glm4");
}

// One of the two tensors that kv_b_proj becomes: its name behind "blk.N.", shape and values.
struct LatentPart {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;
};

// kv_b: [n_heads, still_dim + value_dim, rank]. Keys are turned.
inline std::vector<LatentPart> latent_parts(const model::ModelConfig& c,
                                            const std::vector<float>& kv_b) {
  const model::LatentConfig& l = c.latent;
  LatentPart keys{"attn_k_b.weight", {c.n_heads, l.rank, l.still_dim}, {}};
  LatentPart values{"attn_v_b.weight", {c.n_heads, l.value_dim, l.rank}, {}};
  for (int head = 0; head < c.n_heads; ++head) {
    const auto rows = kv_b.begin() + int64_t{head} * l.up_dim() * l.rank;
    for (int channel = 0; channel < l.rank; ++channel)
      for (int row = 0; row < l.still_dim; ++row)
        keys.values.push_back(rows[int64_t{row} * l.rank + channel]);
    values.values.insert(values.values.end(), rows + int64_t{l.still_dim} * l.rank,
                         rows + int64_t{l.up_dim()} * l.rank);
  }
  return {std::move(keys), std::move(values)};
}

}  // namespace pando::testing
