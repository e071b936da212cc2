// The tensors of a model: what files call them, their shapes, and where they go in memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/config.h"
#include "model/layer_weights.h"

namespace pando::model {

// Where a tensor of a layer goes. Tensors that name the same vector or stack go there one after
// another, in their order; a single matrix takes one tensor.
using LayerPart = std::variant<std::monostate, std::vector<float> LayerWeights::*,
                               Stack LayerWeights::*, kernel::PackedMatrix LayerWeights::*>;

struct WeightSpec {
  std::string name;            // in a checkpoint
  std::vector<int64_t> shape;  // outer to inner: [n], or [out, in]
  std::string gguf_name = {};  // in a GGUF file
  LayerPart part = {};         // none for the embedding, the last norm and lm_head
  // The rotary embedding turns rows in pairs; GGUF files hold those of a pair side by side
  // (TensorView).
  bool gguf_pairs = false;
};

// "model.layers.<layer>.<part>", with part as in "self_attn.q_proj.weight".
std::string layer_weight_name(int layer, std::string_view part);

// Every weight that a model of this shape has, in the order of the forward pass: the embedding
// [vocab, d_model], the tensors of each layer, the last norm [d_model], and lm_head
// [vocab, d_model] unless embeddings are tied. Any other tensor in a file is refused.
std::vector<WeightSpec> weight_specs(const ModelConfig& config);

}  // namespace pando::model
