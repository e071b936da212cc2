// The tensors of a model: their names in files, shapes and roles.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "contract/tensor_source.h"
#include "model/config.h"
#include "model/tensor_view.h"

namespace pando::model {

// A part of a tensor that is a tensor of its own in a file: some of its rows, or of the rows of
// each expert.
struct TensorPart {
  std::string name;
  int64_t n_rows;
  // Shape in the file, if it is not [n_rows, columns]; n_rows counts all sizes but the last.
  std::vector<int64_t> shape = {};
};

struct WeightSpec {
  std::string name;  // in a checkpoint
  // Outer to inner, in a checkpoint: [n], [out, in], or [channels, 1, taps] for a convolution,
  // which is kept as [taps, channels]. For experts, their number comes first.
  std::vector<int64_t> shape;
  std::string gguf_name = {};  // in a GGUF file
  // Tensors of a layer with the same role are joined, in their order. Tensors of experts hold all
  // experts.
  Role role = {};
  std::vector<int64_t> gguf_shape = {};    // if it differs by more than sizes of 1
  std::vector<int64_t> stored_shape = {};  // in a checkpoint, if it has other sizes there
  // Parts of the rows in a GGUF file without a tensor `gguf_name`.
  std::vector<TensorPart> gguf_parts = {};
  // Parts of the rows, one tensor above the other, in a checkpoint without a tensor `name`, as
  // published files have them. Other files may divide the rows elsewhere.
  std::vector<TensorPart> parts = {};
  // Tensors of single experts in a checkpoint without a tensor `name`, as published files have
  // them. "{}" in a name stands for the expert's number.
  std::vector<TensorPart> expert_parts = {};
  // Order of the rows of a matrix or vector; for experts, of the rows of each.
  RowOrder rows = {}, columns = {};  // in a checkpoint
  RowOrder gguf_rows = {};           // in a GGUF file
  bool transposed = false;           // in a checkpoint: a matrix is stored as [in, out]
  Stored stored = Stored::kItself;   // in a checkpoint; GGUF files hold the value itself
  // Index of the expert (-1: all experts), and the number of experts stacked in the tensor `name`
  // (0: only this one).
  int expert = -1;
  int n_stacked = 0;

  int64_t n_elements() const;
  std::vector<int64_t> checkpoint_shape() const;  // as a checkpoint has it
  // Index of the number of rows in the shape.
  size_t row_axis() const { return is_of_experts(role) && expert < 0 ? 1 : 0; }
  // Spec of one expert's tensor, a slice of the tensor of all experts.
  WeightSpec of_expert(int index) const;
};

// The tensors that GGUF files hold for this one. Parts are named "<name>[0]", "<name>[1]".
std::vector<WeightSpec> gguf_tensors_of(const WeightSpec& spec);
// The tensors that a published checkpoint holds for this one, in the order of rows and of experts.
std::vector<WeightSpec> checkpoint_tensors_of(const WeightSpec& spec);
// Returns the same of one expert, where the checkpoint has tensors of each.
std::vector<WeightSpec> checkpoint_tensors_of(const WeightSpec& spec, int expert);

// "model.layers.<layer>.<part>", with part as in "self_attn.q_proj.weight".
std::string layer_weight_name(int layer, std::string_view part);

// Every weight that a model of this shape has, in the order of the forward pass: the embedding
// [vocab, d_model], the tensors of inputs of layers, the tensors of each layer, the last norm
// [d_model], lm_head [vocab, d_model] unless embeddings are tied, and biases. Any other tensor in a
// file is refused.
std::vector<WeightSpec> weight_specs(const ModelConfig& config);
// Returns the same as the tensors of a published checkpoint.
std::vector<WeightSpec> checkpoint_specs(const ModelConfig& config);
// Tensors of no layer: the embedding; the parts of inputs of layers; the last norm and its bias;
// the matrix that gives the logits (lm_head, or the embedding where it is tied), and its bias.
std::vector<WeightSpec> end_specs(const ModelConfig& config);
WeightSpec head_spec(const ModelConfig& config);  // of the logits

}  // namespace pando::model
