// The shape of a model, read from a Hugging Face config.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "model/family.h"
#include "model/rope.h"
#include "pando/result.h"

namespace pando::model {

// A plain value. What `load` and `parse` return satisfies `validate`: every size is positive,
// n_heads is a multiple of n_kv_heads, head_dim of 4, and no product of two sizes overflows int64.
struct ModelConfig {
  Family family = Family::kLlama;
  int vocab = 0;
  int d_model = 0;
  int n_layers = 0;
  int n_heads = 0;
  int n_kv_heads = 0;
  int head_dim = 0;
  int d_ff = 0;
  float rms_eps = 1e-5f;
  RopeConfig rope = {};
  int max_positions = 0;         // longest sequence, in tokens
  bool tied_embeddings = false;  // the LM head is the embedding table; lm_head.weight is not read
  QkNorm qk_norm = QkNorm::kNone;
  bool post_norm = false;          // norms behind attention and feed-forward, none before them
  bool qkv_bias = false;           // of queries, keys and values
  bool o_bias = false;             // of the output projection
  bool fused_projections = false;  // the checkpoint holds qkv_proj and gate_up_proj
  // A query at position p sees keys behind p - sliding_window; 0: all up to its own.
  int sliding_window = 0;
  std::vector<bool> windowed_layers = {};  // [n_layers] those with the window; empty: all
  std::optional<int32_t> bos_id = {};
  std::vector<int32_t> eos_ids = {};  // any of these ends a sequence; may be empty

  // With what the family fixes, and nothing else.
  static ModelConfig of_family(Family family);

  // The window of a layer, 0 for none.
  int window(int layer) const {
    return windowed_layers.empty() || windowed_layers[layer] ? sliding_window : 0;
  }
  // Elements of the norms of queries and of keys; 0: none.
  int q_norm_dim() const { return qk_norm_dim(q_dim()); }
  int k_norm_dim() const { return qk_norm_dim(kv_dim()); }
  int q_dim() const { return n_heads * head_dim; }
  int kv_dim() const { return n_kv_heads * head_dim; }
  int64_t n_parameters() const;

  bool operator==(const ModelConfig&) const = default;

  // Reads directory/config.json, or the metadata of a GGUF file.
  static Result<ModelConfig> load(const std::filesystem::path& directory);
  // `source` names the text in error messages.
  static Result<ModelConfig> parse(std::string_view json, std::string_view source);
  // The same for an object that is not text.
  static Result<ModelConfig> from_json(const nlohmann::json& object, std::string_view source);
  // The error names `source`, field, found and expected.
  Status validate(std::string_view source) const;

  // A config.json that `parse` and the transformers library read; weights are of type `dtype`.
  std::string to_json(DType dtype) const;

 private:
  int qk_norm_dim(int full) const {
    return qk_norm == QkNorm::kNone ? 0 : qk_norm == QkNorm::kPerHead ? head_dim : full;
  }
};

// One weight of a model as it is named in a checkpoint; shape outer to inner.
struct WeightSpec {
  std::string name;
  std::vector<int64_t> shape;
};

// "model.layers.<layer>.<part>", with part as in "self_attn.q_proj.weight".
std::string layer_weight_name(int layer, std::string_view part);

// Every weight that a model of this shape has, in the order of the forward pass: the embedding
// [vocab, d_model], per layer its norms [d_model], projections [out, in] and their biases [out],
// the last norm, and lm_head [vocab, d_model] unless embeddings are tied.
std::vector<WeightSpec> weight_specs(const ModelConfig& config);

}  // namespace pando::model
