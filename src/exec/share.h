// Division of a model over processes.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "contract/model_spec.h"
#include "contract/share.h"
#include "contract/tensor_source.h"

namespace pando::exec {

// The range [first, second) of n things that part `part` of n_parts has. The parts are as equal as
// can be.
std::pair<int, int> part_of(int n, int part, int n_parts);
// Divides several pieces that stand one after another, each by itself.
std::vector<std::pair<int, int>> parts_of(std::span<const int> sizes, int part, int n_parts);

// kInvalidArgument if the heads do not divide, or there are fewer layers than stages.
Status check_share(const model::ModelSpec& spec, const ModelShare& share);

// The range [first, second) of the model's layers that the stage has: that of the share, or where
// it names none, by the products of a row (cut_layers).
std::pair<int, int> layers_of_share(const model::ModelSpec& spec, const ModelShare& share);

// The layers that a stage may begin with, ascending: a layer is in the stage of the layer whose
// keys it reads.
std::vector<int> first_layers(const model::ModelSpec& spec);

// The range of the vocabulary whose logits the share has; nothing if it has no part of the head.
std::pair<int, int> logits_of_share(const model::ModelSpec& spec, const ModelShare& share);

// The layers of the stage, with the heads and the inner width of the rank. check_share has passed.
model::ModelSpec spec_of_share(const model::ModelSpec& spec, const ModelShare& share);

// Rows of a layer's part that belong to the share: ranges [first, second) of its n_rows, ascending.
// spec, layer: of the whole model. n_rows of a convolution: taps times channels.
std::vector<std::pair<int, int>> rows_of_share(const model::ModelSpec& spec, int layer,
                                               model::Role role, int n_rows,
                                               const ModelShare& share);

// Sizes of the pieces of a mixer's result, as its output projection reads them; ranks divide each
// piece. spec, layer: of the whole model.
std::vector<int> mixed_pieces(const model::ModelSpec& spec, int layer);

}  // namespace pando::exec
