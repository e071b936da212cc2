// The arithmetic of docs/arithmetic.md in plain loops. Slow: other devices are compared with it.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "contract/device.h"
#include "exec/scalar/weights.h"

namespace pando::exec {

class ScalarModel final : public DeviceModel {
 public:
  explicit ScalarModel(scalar::Weights weights) : weights_(std::move(weights)) {}

  const Device& device() const override;
  const model::ModelSpec& spec() const override { return weights_.spec; }
  const ModelShare& share() const override { return weights_.share; }
  std::string weight_type() const override;
  size_t weight_bytes() const override { return weights_.bytes(); }
  std::unique_ptr<StageExecutor> open(const ExecutorOptions& options, const KvRoom& room,
                                      ThreadPool& pool) const override;

 private:
  scalar::Weights weights_;
};

const Device& scalar_device();

}  // namespace pando::exec
