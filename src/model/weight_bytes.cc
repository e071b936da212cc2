#include "model/weight_bytes.h"

#include "kernel/weight_types.h"

namespace pando::model {
namespace {

double bytes_of_one(DType type) {
  const kernel::WeightTypeInfo& info = kernel::info_of(type);
  if (info.is_in_files()) return static_cast<double>(info.block_bytes) / info.block_len;
  return type == DType::kI8 ? 1 : 2;
}

}  // namespace

uint64_t bytes_needed(const Weights& opened, std::optional<DType> requantised) {
  const ModelConfig& config = opened.config;
  std::vector<WeightSpec> matrices = {head_spec(config)};
  for (int layer = 0; layer < config.n_layers(); ++layer)
    for (const WeightSpec& spec : config.family->layer_weights(config, layer))
      for (WeightSpec& stored : opened.checkpoint.stored_as(spec))
        if (stored.shape.size() >= 2) matrices.push_back(std::move(stored));
  double sum = 0;
  for (const WeightSpec& spec : matrices) {
    Result<TensorView> view = opened.checkpoint.tensor(spec);
    if (!view && spec.shape.size() == 3)  // quantised tensors of all experts are read one by one
      view = opened.checkpoint.tensor(spec.of_expert(0));
    if (!view) continue;
    const DType kept =
        view->quantized ? view->quantized->kept() : kernel::info_of(view->dtype).packed;
    sum += bytes_of_one(requantised.value_or(kept)) * static_cast<double>(spec.n_elements());
  }
  return static_cast<uint64_t>(sum);
}

}  // namespace pando::model
