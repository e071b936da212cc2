// The weights of a model, unpacked.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "contract/model_spec.h"
#include "contract/share.h"
#include "contract/tensor_source.h"
#include "exec/scalar/matrix.h"
#include "exec/weight_set.h"

namespace pando::exec::scalar {

using model::Role;
using Values = std::vector<float>;

using WeightSet = exec::WeightSet<Values, Stack>;

struct LayerWeights : WeightSet {
  std::vector<WeightSet> experts;     // [n_experts] of a mixture
  std::vector<Matrix> latent_keys;    // [n_heads] of [rank, still_dim]
  std::vector<Matrix> latent_values;  // [n_heads] of [value_dim, rank]
};

struct Weights;
// Called with each part of the weights as soon as it is loaded, by any thread of the pool. The part
// is a layer of the stage, or -1 for the ends. The function may move the part away.
using TakePart = std::function<void(Weights& weights, int layer)>;

// Immutable once loaded; shared by any number of executors.
struct Weights {
  model::ModelSpec spec;             // of the whole model
  ModelShare share;                  // the stage that is here
  std::vector<LayerWeights> layers;  // of the stage
  WeightSet ends;                    // before and behind the layers
  // Tables where they lie in their file; null if the model or the stage has none.
  std::map<Role, std::unique_ptr<const model::Tensor>> tables;

  size_t bytes() const;  // of matrices
  // Row `index` of a table, [columns of the table].
  Values table_row(Role role, int64_t index) const;

  // requantised: type that matrices become; absent: the type they are kept in. The source outlives
  // the weights.
  static Result<Weights> load(const model::ModelSpec& spec, const model::TensorSource& source,
                              std::optional<DType> requantised, const ModelShare& share,
                              ThreadPool& pool, const TakePart& take = {});
};

// The type of the matrix that a tensor becomes if it is kept as stored. widens: one with scales
// gets the model's own type.
DType kept_as(const model::Tensor& tensor, bool widens);

}  // namespace pando::exec::scalar
