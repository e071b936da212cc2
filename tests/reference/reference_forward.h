// The plain reference forward pass: docs/arithmetic.md read aloud. One sequence; no pages, tree,
// plan, threads or intrinsics, and nothing of src/kernel. The engine must give the same bits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "model/checkpoint.h"
#include "model/config.h"
#include "reference/reference_quantise.h"

namespace pando::reference {

struct Options {
  std::optional<DType> weights;  // projections and LM head as q8_0, q4_0, int8; else as stored
  DType kv_dtype = DType::kF32;  // f32, f16, bf16 or int8
  int tile_len = 64;             // positions
  int span_len = 2048;           // positions, a multiple of tile_len
  int context = 0;               // longest sequence of the engine; 0: the model's
};

// Frequencies of the rotary embedding, [rotary dimensions / 2].
std::vector<double> frequencies(const model::RopeConfig& rope, int head_dim, int context);

// y = W x for W [n, k], as stored or of a type made from it.
class Matrix {
 public:
  static constexpr int kBlock = 64;

  // elements: row-major [n, k] f32.
  Matrix(const std::vector<float>& elements, int n, int k, std::optional<DType> made);
  // groups: [n, k / 32] of 32 each.
  Matrix(const std::vector<Quantised>& groups, int n, int k);
  // x: [n_rows, k]; returns [n_rows, n].
  std::vector<float> times(const std::vector<float>& x, int n_rows) const;

 private:
  void add_group(const Quantised& group);
  void times_integers(const float* x, float* y) const;

  int n_, k_;
  bool rounds_ = false;            // bf16_dot; the second input of a pair comes first
  std::vector<float> blocks_;      // [ceil(n / 64), k, 64], filled with zeros; empty for integers
  int group_len_ = 0;              // inputs that share a scale: 32, or all for int8
  std::vector<int8_t> quantised_;  // [n, groups, group_len]
  std::vector<float> scales_;      // [n, groups], widened
  std::vector<int> factors_;       // [n, groups, 2], of halves of 32
  std::vector<float> minima_;      // [n, groups], or empty
};

struct Layer {
  // As the checkpoint names them: [d_model], or empty.
  std::vector<float> input_norm, post_attention_norm, post_feedforward_norm;
  std::vector<float> q_norm, k_norm;                  // [head_dim] or of all heads, or empty
  std::vector<float> q_bias, k_bias, v_bias, o_bias;  // [out], or empty
  Matrix q, k, v, o, gate, up, down;
};

// Holds all weights in f32. Any thread may call; every call is a whole forward pass.
class Model {
 public:
  static Result<Model> load(const model::ModelConfig& config, const model::Checkpoint& checkpoint,
                            const Options& options);

  // Rows [first, n_tokens) of the residual stream after the last norm: [n_tokens - first, d_model].
  std::vector<float> hidden(std::span<const int32_t> tokens, int first = 0) const;
  // Rows [first, n_tokens) of the logits: [n_tokens - first, vocab].
  std::vector<float> logits(std::span<const int32_t> tokens, int first = 0) const;

 private:
  Model() = default;

  model::ModelConfig config_;
  Options options_;
  std::vector<float> embedding_;  // [vocab, d_model]
  std::vector<Layer> layers_;
  std::vector<float> last_norm_;  // [d_model]
  std::vector<Matrix> lm_head_;   // exactly one, once loaded
};

}  // namespace pando::reference
