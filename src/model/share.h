// The part of a model that one of several processes has.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "model/config.h"
#include "model/weight_specs.h"

namespace pando::model {

// Of n things, those that part `part` of n_parts has: [first, second). The parts are as equal as
// can be.
std::pair<int, int> part_of(int n, int part, int n_parts);
// The same of several pieces that stand one after another, each divided by itself.
std::vector<std::pair<int, int>> parts_of(std::span<const int> sizes, int part, int n_parts);

// Layers are divided over stages. In each stage, the outputs of matrices are divided over ranks; no
// sum is split.
struct Share {
  int stage = 0, n_stages = 1;
  int rank = 0, n_ranks = 1;
  int copy = 0;  // of ranks with the same matrices, which one

  bool is_first() const { return stage == 0; }
  bool is_last() const { return stage + 1 == n_stages; }
  bool has_head() const { return stage == 0 && rank == 0 && copy == 0; }
  bool is_whole() const { return n_stages == 1 && n_ranks == 1; }
};

// kInvalidArgument where the heads do not divide, or there are fewer layers than stages.
Status check_share(const ModelConfig& config, const Share& share);

// Of the model's layers, those of the stage: [first, second). A layer is in the stage of the layer
// whose keys it reads; else the stages have as many layers as can be, each at least one.
std::pair<int, int> layers_of_share(const ModelConfig& config, const Share& share);

// The layers of the stage, with the heads and the inner width of the rank. check_share has passed.
ModelConfig config_of_share(const ModelConfig& config, const Share& share);

// Which of the n_rows that a part of a layer has go to the share: ranges [first, second),
// ascending. config, layer: of the whole model; n_rows of a convolution: taps times channels.
std::vector<std::pair<int, int>> rows_of_share(const ModelConfig& config, int layer,
                                               const LayerPart& part, int n_rows,
                                               const Share& share);

// The pieces of a mixer's result, as its output projection reads them; ranks divide each by itself.
// config, layer: of the whole model.
std::vector<int> mixed_pieces(const ModelConfig& config, int layer);

}  // namespace pando::model
