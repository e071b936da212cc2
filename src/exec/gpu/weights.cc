#include "exec/gpu/weights.h"

#include <mutex>
#include <utility>

#include "exec/gpu/attention.h"

namespace pando::exec::gpu {

const Values& WeightSet::values(Role role) const {
  static const Values none;
  const auto found = values_.find(role);
  return found == values_.end() ? none : found->second;
}

const Stack& WeightSet::stack(Role role) const {
  static const Stack none;
  const auto found = stacks_.find(role);
  return found == stacks_.end() ? none : found->second;
}

void WeightSet::copy(Host& host, const scalar::WeightSet& from) {
  for (const auto& [role, values] : from.all_values())
    values_[role] = Values::of(host, role == Role::kSinks ? sinks_in_base_2(values) : values);
  for (const auto& [role, stack] : from.all_stacks())
    for (const scalar::Matrix& matrix : stack) stacks_[role].push_back(Matrix::pack(host, matrix));
}

size_t WeightSet::bytes() const {
  size_t sum = 0;
  for (const auto& [role, stack] : stacks_)
    for (const Matrix& matrix : stack) sum += matrix.bytes();
  return sum;
}

void LayerWeights::copy_layer(Host& host, const scalar::LayerWeights& from) {
  copy(host, from);
  experts.resize(from.experts.size());
  for (size_t i = 0; i < experts.size(); ++i) experts[i].copy(host, from.experts[i]);
}

size_t Weights::bytes() const {
  size_t sum = ends.bytes();
  for (const LayerWeights& layer : layers) {
    sum += layer.bytes();
    for (const WeightSet& expert : layer.experts) sum += expert.bytes();
  }
  return sum;
}

Result<Weights> Weights::load(Host& host, const model::ModelSpec& spec,
                              const model::TensorSource& source, std::optional<DType> requantised,
                              const ModelShare& share, ThreadPool& pool) {
  std::vector<LayerWeights> layers;
  WeightSet ends;
  std::mutex turn;  // of the host
  const auto take = [&](scalar::Weights& from, int layer) {
    const std::lock_guard lock(turn);
    if (layer < 0) {
      ends.copy(host, from.ends);
      from.ends.drop_stacks();
      return;
    }
    layers.resize(from.layers.size());
    layers[layer].copy_layer(host, from.layers[layer]);
    from.layers[layer].drop_stacks();
    from.layers[layer].experts.clear();
  };
  Result<scalar::Weights> loaded =
      scalar::Weights::load(spec, source, requantised, share, pool, take);
  if (!loaded) return loaded.error();
  return Weights{
      .on_host = std::move(*loaded), .layers = std::move(layers), .ends = std::move(ends)};
}

}  // namespace pando::exec::gpu
