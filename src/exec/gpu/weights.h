// The weights of a model in the memory of a host.
#pragma once

#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "contract/model_spec.h"
#include "contract/share.h"
#include "contract/tensor_source.h"
#include "exec/gpu/host.h"
#include "exec/gpu/products.h"
#include "exec/gpu/values.h"
#include "exec/scalar/weights.h"
#include "exec/weight_set.h"

namespace pando::exec::gpu {

using model::Role;

using WeightSet = exec::WeightSet<Values, Stack>;

struct LayerWeights : WeightSet {
  std::vector<WeightSet> experts;  // [n_experts] of a mixture
};

// Immutable once loaded. The host is used by one executor at a time.
struct Weights {
  scalar::Weights on_host;           // spec, share, tables and values, without matrices
  std::vector<LayerWeights> layers;  // of the stage
  WeightSet ends;                    // before and after the layers

  size_t bytes() const;  // of matrices

  // Copies each layer as soon as it is read. Errors: those of scalar::Weights::load. Throws
  // std::bad_alloc, and std::runtime_error if the host fails.
  static Result<Weights> load(Host& host, const model::ModelSpec& spec,
                              const model::TensorSource& source, std::optional<DType> requantised,
                              const ModelShare& share, ThreadPool& pool);
};

}  // namespace pando::exec::gpu
