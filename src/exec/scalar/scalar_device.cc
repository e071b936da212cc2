#include "exec/scalar/scalar_device.h"

#include <utility>

#include "base/errors.h"
#include "base/machine.h"
#include "base/numbers/group_form.h"
#include "base/numbers/weight_types.h"
#include "exec/cpu/cpu_device.h"
#include "exec/cpu/kv_sizes.h"
#include "exec/scalar/scalar_executor.h"
#include "exec/share.h"

namespace pando::exec {
namespace {

constexpr std::string_view kScalar = "scalar";

// Counts one weight in memory: f32, or an integer and its share of what the group has.
double bytes_of_weight(DType type) {
  if (type == DType::kI8) return 1;
  const GroupForm form = group_form(type);
  if (form.code_bits == 0) return sizeof(float);
  const int n_floats = 1 + form.minima + (form.factor_len < 32 ? 2 : 0);
  return 1 + n_floats * sizeof(float) / 32.0;
}

class ScalarDevice final : public Device {
 public:
  std::string_view name() const override { return kScalar; }
  std::string description() const override {
    return "plain loops on the processor, for comparison with other devices";
  }
  uint64_t memory_bytes() const override { return total_memory().value_or(0); }
  bool divides_rows() const override { return false; }
  Result<std::string> isa_name(std::string_view isa) const override {
    if (isa.empty() || isa == kScalar) return std::string(kScalar);
    return invalid_option("isa", "is '{}', expected '{}'", isa, kScalar);
  }
  std::vector<std::string> warnings() const override { return {}; }

  Result<std::vector<KernelCheck>> check_kernels() const override {
    return invalid_option("device", "is '{}', expected emulated, opencl or cuda", name());
  }

  Result<std::unique_ptr<DeviceModel>> load(const model::ModelSpec& spec,
                                            const model::TensorSource& source,
                                            const WeightOptions& options,
                                            ThreadPool& pool) const override {
    Result<scalar::Weights> weights =
        scalar::Weights::load(spec, source, options.requantised, options.share, pool);
    if (!weights) return weights.error();
    return std::unique_ptr<DeviceModel>(std::make_unique<ScalarModel>(std::move(*weights)));
  }

  uint64_t weight_bytes(const model::ModelSpec& spec, const model::TensorSource& source,
                        const WeightOptions& options) const override {
    double sum = 0;
    const auto add = [&](const model::WeightId& id) {
      const Result<model::Tensors> tensors = source.tensors(id);
      if (!tensors) return;
      for (const auto& tensor : *tensors)
        if (tensor->shape.size() == 2)
          sum += bytes_of_weight(options.requantised.value_or(scalar::kept_as(*tensor, false))) *
                 static_cast<double>(tensor->shape[0]) * static_cast<double>(tensor->shape[1]);
    };
    if (!spec.both_ways) add({spec.tied_embeddings ? model::Role::kEmbedding : model::Role::kHead});
    for (int layer = 0; layer < spec.n_layers(); ++layer)
      for (const model::Role role : source.roles(layer))
        for (int i = 0; i < (is_of_experts(role) ? spec.experts.n_experts : 1); ++i)
          add({role, layer, is_of_experts(role) ? i : -1});
    return static_cast<uint64_t>(sum);
  }

  // Tables of rotations and the sizes of pages are the CPU's.
  uint64_t fixed_bytes(const model::ModelSpec& spec, int context) const override {
    return cpu_device().fixed_bytes(spec, context);
  }
  Result<KvRoom> kv_room(const model::ModelSpec& spec, const KvOptions& options) const override {
    return cpu_device().kv_room(spec, options);
  }
  size_t kv_bytes_per_token(const model::ModelSpec& spec, DType type) const override {
    return cpu_device().kv_bytes_per_token(spec, type);
  }
};

}  // namespace

const Device& scalar_device() {
  static const ScalarDevice device;
  return device;
}

const Device& ScalarModel::device() const { return scalar_device(); }

std::string ScalarModel::weight_type() const {
  for (const scalar::LayerWeights& layer : weights_.layers) {
    const scalar::Stack& stack = layer.experts.empty()
                                     ? layer.stack(model::Role::kGateUp)
                                     : layer.experts[0].stack(model::Role::kExpertGateUp);
    if (!stack.empty()) return std::string(dtype_name(stack[0].type()));
  }
  return "none";
}

std::unique_ptr<StageExecutor> ScalarModel::open(const ExecutorOptions& options, const KvRoom& room,
                                                 ThreadPool& pool) const {
  const KvSizes sizes =
      KvSizes::in_room(spec_of_share(weights_.spec, weights_.share), options.kv, room);
  return std::make_unique<ScalarExecutor>(weights_, pool, options, sizes);
}

}  // namespace pando::exec
