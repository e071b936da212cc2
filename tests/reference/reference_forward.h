// The plain reference forward pass: docs/arithmetic.md read aloud. One sequence; no pages, tree,
// plan, threads or intrinsics, and nothing of src/exec/cpu/kernel. The engine must give the same
// bits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "model/checkpoint.h"
#include "model/config.h"
#include "reference/reference_experts.h"
#include "reference/reference_recurrent.h"

namespace pando::reference {

struct Options {
  // Projections and LM head as q8_0, q4_0, int8, or blocks widened to f32; else as stored.
  std::optional<DType> weights;
  DType kv_dtype = DType::kF32;  // f32, f16, bf16 or int8
  int tile_len = 64;             // positions
  int span_len = 2048;           // positions, a multiple of tile_len
  int context = 0;               // longest sequence of the engine; 0: the model's
};

// Frequencies of the rotary embedding, [rotary dimensions / 2].
std::vector<double> frequencies(const model::RopeConfig& rope, int head_dim, int context);

// Matrices of latent attention, in place of those of other attention.
struct Latent {
  Matrix q, q_up;             // of inner rows and q_up, or all of queries and none
  Matrix kv;                  // of latents and of the channels of keys that turn
  std::vector<float> q_norm;  // [inner], or empty
  std::vector<float> kv_norm;
  std::vector<Matrix> key_up, value_up;  // of each head
};

struct Layer {
  // Norms before a part, and of its summand: [d_model], with a bias behind if there is one, or
  // empty.
  std::vector<float> attention_norm, attention_sum_norm, feed_forward_norm, feed_forward_sum_norm;
  std::vector<float> q_norm, k_norm;  // [head_dim] or of all heads, or empty
  std::vector<float> q_bias, gate_bias, k_bias, v_bias, o_bias;  // [out], or empty
  std::vector<float> sinks;                                      // [n_heads], or empty
  Matrix q, query_gates, k, v, o;                                // of attention
  Latent latent;                                                 // of attention over latents
  Recurrent recurrent;                                           // of a layer with a state
  Gated feed_forward;                   // of a dense layer, or of the shared expert
  Experts experts;                      // of a mixture
  Matrix input_gate, input_projection;  // of the layer's own inputs
  std::vector<float> input_sum_norm;    // [d_model]
  std::vector<float> scale;             // [1], or empty
};

// Holds all weights in f32. Any thread may call; every call is a whole forward pass.
class Model {
 public:
  static Result<Model> load(const model::ModelConfig& config, const model::Checkpoint& checkpoint,
                            const Options& options);

  // Rows [first, n_tokens) of the residual stream after the last norm: [n_tokens - first, d_model].
  // types: of each token, for models that have any; empty: all 0.
  std::vector<float> hidden(std::span<const int32_t> tokens, int first = 0,
                            std::span<const uint8_t> types = {}) const;
  // Rows [first, n_tokens) of the logits: [n_tokens - first, vocab].
  std::vector<float> logits(std::span<const int32_t> tokens, int first = 0) const;

 private:
  Model() = default;
  std::vector<float> norm_rows(const std::vector<float>& x, const std::vector<float>& w) const;
  // Keys and values of a layer, [n_tokens, n_kv_heads, head_dim].
  struct Keys {
    std::vector<float> k, v;
  };
  Keys keys_of(int index, const std::vector<float>& h, int n) const;
  std::vector<float> attention(int index, const std::vector<float>& h, const Keys& keys,
                               int n) const;
  void turn(std::vector<float>& x, int index, int n) const;
  void norm_and_turn(std::vector<float>& x, const std::vector<float>& norm, int index, int n) const;
  std::vector<float> embeddings(std::span<const int32_t> tokens,
                                std::span<const uint8_t> types) const;
  std::vector<float> layer_inputs(std::span<const int32_t> tokens,
                                  const std::vector<float>& embeddings) const;
  std::vector<float> of_inputs(int index, const std::vector<float>& inputs,
                               const std::vector<float>& x, int n) const;

  model::ModelConfig config_;
  Options options_;
  std::vector<float> embedding_;  // [vocab, d_model]
  // Tables that are added to it, and the norm of the sum; or empty.
  std::vector<float> position_table_, type_table_, embedding_norm_;
  std::vector<Layer> layers_;
  std::vector<float> last_norm_;    // [d_model], a bias behind it
  std::vector<float> input_table_;  // [layer_input_vocab, n_layers * layer_input_dim]
  Matrix input_projection_;         // [n_layers * layer_input_dim, d_model]
  std::vector<float> input_norm_;   // [layer_input_dim]
  std::vector<Matrix> lm_head_;     // exactly one, once loaded
  std::vector<float> head_bias_;    // [vocab], or empty
};

}  // namespace pando::reference
