#include "exec/gpu/weights.h"

#include <mutex>
#include <utility>

#include "exec/gpu/attention.h"

namespace pando::exec::gpu {
namespace {

void copy(Host& host, const scalar::WeightSet& from, WeightSet& to) {
  for (const auto& [role, values] : from.all_values())
    to.set(role, Values::of(host, role == Role::kSinks ? sinks_in_base_2(values) : values));
  for (const auto& [role, matrices] : from.all_stacks()) {
    Stack stack;
    for (const scalar::Matrix& matrix : matrices) stack.push_back(Matrix::pack(host, matrix));
    to.set(role, std::move(stack));
  }
}

void copy_layer(Host& host, const scalar::LayerWeights& from, LayerWeights& to) {
  copy(host, from, to);
  to.experts.resize(from.experts.size());
  for (size_t i = 0; i < to.experts.size(); ++i) copy(host, from.experts[i], to.experts[i]);
}

}  // namespace

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
      copy(host, from.ends, ends);
      from.ends.drop_stacks();
      return;
    }
    layers.resize(from.layers.size());
    copy_layer(host, from.layers[layer], layers[layer]);
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
