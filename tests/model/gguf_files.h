// GGUF files made from checkpoints, by the published layout.
#pragma once

#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/gguf_writer.h"
#include "model/checkpoint.h"
#include "model/config.h"
#include "model/gguf_experts.h"
#include "model/gguf_hybrid.h"
#include "model/gguf_latent.h"
#include "model/gguf_metadata.h"
#include "model/gguf_names.h"
#include "model/gguf_values.h"
#include "model/make_model.h"
#include "model/weight_specs.h"
#include "reference/reference_blocks.h"

namespace pando::testing {

struct GgufFileOptions {
  DType matrices = DType::kF32;  // f32, f16 and bf16 must be the checkpoint's; or q8_0, q4_0
  uint32_t version = 3;
  bool widens_alternate = false;  // every second matrix to f32, where they are the checkpoint's
  std::vector<std::string> mtp_tensors = {};             // of one block of multi-token prediction
  bool declares_mtp = true;                              // the file says that it has that block
  bool old_latents = false;                              // add_latent_keys
  bool fuses_experts = false;                            // gate and up of experts are one tensor
  std::vector<std::pair<std::string, float>> more = {};  // metadata
  std::vector<std::string> tokens = {};  // for a byte-level tokenizer; the last is user-defined
};

// Adds the matrices of all experts of a layer, or their biases. Type: as the options say, or as
// stored if rows are no whole number of its blocks.
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
  for (const auto& [key, value] : options.more) out.float32(key, value);
  for (const std::string& name : options.mtp_tensors)
    out.tensor(name, {4}, 0, std::string(16, '\0'));
  if (!options.tokens.empty()) {
    std::vector<int32_t> types(options.tokens.size(), 1);
    types.back() = 4;
    out.string("tokenizer.ggml.model", "gpt2")
        .strings("tokenizer.ggml.tokens", options.tokens)
        .numbers("tokenizer.ggml.token_type", GgufType::kInt32, types)
        .strings("tokenizer.ggml.merges", {});
  }
  int n_matrices = 0;
  for (const model::WeightSpec& spec : model::weight_specs(c)) {
    if (is_of_experts(spec)) {
      add_experts(c, checkpoint, spec, options, &out);
      continue;
    }
    const model::TensorView view = checkpoint.tensor(spec.name, spec.checkpoint_shape()).value();
    const std::vector<float> wide = hybrid_values(c, spec, widened(view));
    const bool stored = spec.shape.size() == 2 && options.matrices == view.dtype;
    std::string bytes = hybrid_order(
        c, spec, {reinterpret_cast<const char*>(view.data), view.n_bytes}, dtype_size(view.dtype));
    DType type = options.matrices;
    // Types as writers of files choose them.
    const bool is_wide = spec.role == model::Role::kRouter ||
                         spec.role == model::Role::kChoiceBias ||
                         spec.role == model::Role::kSharedGate;
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
    // GPT-NeoX: checkpoints have query, key and value of each head together.
    if (has_part(spec.name, "query_key_value"))
      bytes = turned(bytes, c.n_heads, 3, bytes.size() / (size_t{3} * c.n_heads));
    if (rotated && is_family(c, "glm4v_text"))
      bytes = halved_rows(bytes, spec.shape[0], c.head_dim, c.rotations[0].rotary_dim(c.head_dim));
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

// Random weights: in blocks if rows are whole blocks of 256, except for every fourth matrix; else
// f32. type_of: types of single tensors that differ.
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
    out.tensor(name, spec.shape.size() == 1 ? hybrid_shape(c, spec) : spec.shape,
               ggml_type(blocks ? own : DType::kF32),
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
