// The tensors of a model: what files call them, their shapes, and where they go in memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/config.h"
#include "model/layer_weights.h"
#include "model/tensor_view.h"

namespace pando::model {

// Where a tensor of a layer goes. Tensors that name the same vector or stack go there one after
// another, in their order; a single matrix takes one tensor.
using LayerPart = std::variant<std::monostate, std::vector<float> LayerWeights::*,
                               Stack LayerWeights::*, kernel::PackedMatrix LayerWeights::*>;

// Rows of a tensor that are one of their own in a GGUF file.
struct GgufPart {
  std::string name;
  int64_t n_rows;
};

struct WeightSpec {
  std::string name;  // in a checkpoint
  // Outer to inner, in a checkpoint: [n], [out, in], or [channels, 1, taps] of a convolution, which
  // is kept as [taps, channels].
  std::vector<int64_t> shape;
  std::string gguf_name = {};            // in a GGUF file
  LayerPart part = {};                   // none for the embedding, the last norm and lm_head
  std::vector<int64_t> gguf_shape = {};  // where it differs by more than sizes of 1
  // Where a GGUF file divides the rows; gguf_name means nothing then.
  std::vector<GgufPart> gguf_parts = {};
  RowOrder rows = {}, columns = {};  // in a checkpoint
  RowOrder gguf_rows = {};           // in a GGUF file
  Stored stored = Stored::kItself;   // in a checkpoint; GGUF files hold what is used

  int64_t n_elements() const;
};

// The tensors that a GGUF file holds for this one. Parts are named "<name>[0]", "<name>[1]".
std::vector<WeightSpec> gguf_tensors_of(const WeightSpec& spec);

// "model.layers.<layer>.<part>", with part as in "self_attn.q_proj.weight".
std::string layer_weight_name(int layer, std::string_view part);

// Every weight that a model of this shape has, in the order of the forward pass: the embedding
// [vocab, d_model], the tensors of inputs of layers, the tensors of each layer, the last norm
// [d_model], and lm_head [vocab, d_model] unless embeddings are tied. Any other tensor in a file is
// refused.
std::vector<WeightSpec> weight_specs(const ModelConfig& config);
// What inputs of layers are made of: their table [layer_input_vocab, n_layers * layer_input_dim],
// the projection of embeddings [n_layers * layer_input_dim, d_model], and its norm
// [layer_input_dim]. Empty where the model has none.
std::vector<WeightSpec> layer_input_specs(const ModelConfig& config);
// The last norm, and the matrix that gives the logits: lm_head, or the embedding where it is tied.
WeightSpec last_norm_spec(const ModelConfig& config);
WeightSpec head_spec(const ModelConfig& config);

}  // namespace pando::model
