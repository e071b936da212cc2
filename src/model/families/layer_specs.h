// The tensors of a layer, which a family lists in the order of the forward pass.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/weight_specs.h"

namespace pando::model {

// Which files hold the two rows of a head that the rotary embedding turns together side by side.
// kGguf: GGUF files, in every layer. kCheckpoint: checkpoints, in layers that rotate. kAll: both,
// in layers that rotate.
enum class RowPairs { kNone, kGguf, kCheckpoint, kAll };

// What checkpoints call the matrices of experts. `gate_up` and `down` are tensors of all experts.
// Most published files have tensors of each expert instead, "<module>.<expert>.<gate>.weight";
// `module` is null where they do not.
struct ExpertNames {
  const char* gate_up = "mlp.experts.gate_up_proj";
  const char* down = "mlp.experts.down_proj";
  const char* module = "mlp.experts";
  const char* gate = "gate_proj";
  const char* up = "up_proj";
  const char* down_of_one = "down_proj";
};

// Mixtral's, and those of families like it.
inline constexpr ExpertNames kMixtralExperts = {.gate_up = "block_sparse_moe.experts.gate_up_proj",
                                                .down = "block_sparse_moe.experts.down_proj",
                                                .module = "block_sparse_moe.experts",
                                                .gate = "w1",
                                                .up = "w3",
                                                .down_of_one = "w2"};

class LayerSpecs {
 public:
  LayerSpecs(const ModelConfig& config, int layer, RowPairs pairs = RowPairs::kNone)
      : config_(config), layer_(layer), heads_(config.heads(layer)), pairs_(pairs) {}

  // What is returned is valid until the next one is added.
  //
  // One tensor: "model.layers.<layer>.<name>" in a checkpoint, "blk.<layer>.<gguf_name>" in a GGUF
  // file.
  WeightSpec& add(const char* name, const char* gguf_name, std::vector<int64_t> shape,
                  LayerPart part);
  // "<name>.weight" [d_model], and "<name>.bias" where norms have biases.
  void norm(const char* name, const char* gguf_name, std::vector<float> LayerWeights::*part);

  // Groups of tensors, under the names that most families use. Biases and norms are listed where
  // the configuration has them, and of keys and values what the layer does not take from elsewhere.
  void queries_keys_values(const char* module = "self_attn");  // and their biases
  void query_key_norms(const char* q_name = "self_attn.q_norm",
                       const char* k_name = "self_attn.k_norm");
  void output(const char* name = "self_attn.o_proj");  // of attention, and its bias
  // In a mixture of experts these are the shared expert's, in `module`: "mlp.shared_expert".
  void gate_and_up(const char* module = "mlp");  // or up alone, where there is no gate
  void gate_up(const char* name);                // one tensor, which GGUF files divide
  void fused_gate_up();                          // one tensor, in GGUF files as well
  void down(const char* module = "mlp");
  // "<up>.weight" and "<down>.weight" of a dense feed-forward without a gate, and their biases.
  void up_and_down(const std::string& up, const std::string& down);

  // All of these, or router and experts of a mixture without a shared expert.
  void feed_forward();
  // The same; a mixture has a shared expert with a gate too, where the configuration has one.
  void feed_forward_and_shared();

  // Of a mixture of experts. GGUF files have the usual names.
  void router(const char* name = "mlp.gate",  // and its biases
              const char* choice_bias = "mlp.gate.e_score_correction_bias");
  void experts(const ExpertNames& names = {});  // and their biases
  void shared_gate(const char* name = "mlp.shared_expert_gate");

  std::string gguf_name(const char* name) const;  // "blk.<layer>.<name>"
  std::vector<WeightSpec>& all() { return specs_; }
  std::vector<WeightSpec> take() { return std::move(specs_); }

 private:
  void pair_rows(WeightSpec& spec) const;  // of queries or keys
  bool is_mixture() const { return config_.layers[layer_].feed_forward == FeedForward::kExperts; }
  int d_ff() const { return is_mixture() ? config_.experts.shared_d_ff : config_.d_ff_of(layer_); }
  std::string feed_forward_gguf(const char* part) const;

  bool has_keys() const { return config_.layers[layer_].keys_back == 0; }

  const ModelConfig& config_;
  int layer_;
  Heads heads_;
  RowPairs pairs_;
  std::vector<WeightSpec> specs_;
};

// The layer of Llama and of families like it: norms before attention and feed-forward, each
// projection a tensor of its own.
std::vector<WeightSpec> usual_layer(const ModelConfig& config, int layer,
                                    RowPairs pairs = RowPairs::kNone);

}  // namespace pando::model
