// Loads the layers of a model, or what one rank has of them.
#pragma once

#include <span>
#include <vector>

#include "model/config.h"
#include "model/share.h"
#include "model/tensor_loader.h"

namespace pando::model {

// Any thread may call. What it is made of outlives it.
class LayerLoader {
 public:
  LayerLoader(const ModelConfig& config, const Share& share, const TensorLoader& tensors)
      : config_(config), share_(share), tensors_(tensors) {}

  // index: of the layer in the model.
  Status load(int index, LayerWeights& layer) const;

 private:
  using Specs = std::span<const WeightSpec>;

  // The tensors of one part of a layer.
  Status load_part(Specs, int, std::monostate, LayerWeights&) const;
  Status load_part(Specs specs, int index, std::vector<float> LayerWeights::*member,
                   LayerWeights& layer) const;
  Status load_part(Specs specs, int index, Stack LayerWeights::*member, LayerWeights& layer) const;
  Status load_part(Specs specs, int index, kernel::PackedMatrix LayerWeights::*member,
                   LayerWeights& layer) const;
  Status load_part(Specs specs, int, LatentUp LayerWeights::*member, LayerWeights& layer) const;
  // The same of all experts.
  template <class Part>
  Status load_part(Specs specs, int index, Part ExpertWeights::*member, LayerWeights& layer) const;

  // What `specs` hold of this share, in `out`, which is a member of what `part` says.
  Status fill(const TensorLoader& tensors, Specs specs, int index, std::vector<float>& out,
              const LayerPart& part) const;
  Status fill(const TensorLoader& tensors, Specs specs, int index, Stack& out,
              const LayerPart& part) const;
  Status fill(const TensorLoader& tensors, Specs specs, int index, kernel::PackedMatrix& out,
              const LayerPart& part) const;
  std::vector<RowRange> ranges_of(Specs specs, int index, const LayerPart& part) const;

  const ModelConfig& config_;
  const Share& share_;
  const TensorLoader& tensors_;
};

}  // namespace pando::model
