// The tensors of a layer, which a family lists in the order of the forward pass.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/config.h"
#include "model/family.h"
#include "model/weight_specs.h"

namespace pando::model {

class LayerSpecs {
 public:
  LayerSpecs(const ModelConfig& config, int layer)
      : config_(config), layer_(layer), heads_(config.heads(layer)), names_(config.family->layer) {}

  // The reference is valid until the next tensor is added.
  //
  // One tensor: "model.layers.<layer>.<name>" in a checkpoint, "blk.<layer>.<gguf_name>" in a GGUF
  // file.
  WeightSpec& add(const char* name, const char* gguf_name, std::vector<int64_t> shape, Role role);
  // "<name>.weight" [d_model], and "<name>.bias" where norms have biases.
  void norm(const char* name, const char* gguf_name, Role role);

  // Groups of tensors, under the family's names or the usual ones. Biases and norms are listed if
  // the configuration has them; keys and values only if the layer does not read those of another
  // layer.
  void attention();                                            // from queries to output
  void queries_keys_values(const char* module = "self_attn");  // and their biases
  void query_key_norms();
  void output(const char* name);  // of attention, and its bias
  // Router and experts of a mixture, then the shared expert and its gate, or a dense feed-forward.
  void feed_forward();
  // In a mixture of experts these belong to the shared expert.
  void gate_and_up(const char* module);  // or up alone, where there is no gate
  void gate_up(const char* name);        // one tensor, which GGUF files divide
  void down(const char* module);
  void router();                           // and its biases
  void experts(const ExpertNames& names);  // and their biases

  std::string gguf_name(const char* name) const;  // "blk.<layer>.<name>"
  std::vector<WeightSpec>& all() { return specs_; }
  std::vector<WeightSpec> take() { return std::move(specs_); }

 private:
  void pair_rows(WeightSpec& spec) const;  // of queries or keys
  void fused_queries_keys_values();
  void up_and_down();  // without a gate, and their biases
  bool is_mixture() const { return config_.layers[layer_].feed_forward == FeedForward::kExperts; }
  int d_ff() const { return is_mixture() ? config_.experts.shared_d_ff : config_.d_ff_of(layer_); }
  std::string feed_forward_gguf(const char* part) const;

  bool has_keys() const { return config_.layers[layer_].keys_back == 0; }

  const ModelConfig& config_;
  int layer_;
  Heads heads_;
  const LayerNames& names_;
  std::vector<WeightSpec> specs_;
};

}  // namespace pando::model
