// The processors of this machine.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "contract/device.h"
#include "exec/cpu/layers/layer_attention.h"
#include "exec/cpu/pack/weights.h"

namespace pando::exec {

class CpuModel final : public DeviceModel {
 public:
  explicit CpuModel(Weights weights) : weights_(std::move(weights)) {}

  const Device& device() const override;
  const model::ModelSpec& spec() const override { return weights_.spec; }
  const ModelShare& share() const override { return weights_.share; }
  std::string weight_type() const override;
  size_t weight_bytes() const override { return weights_.bytes(); }
  std::unique_ptr<StageExecutor> open(const ExecutorOptions& options, const KvRoom& room,
                                      ThreadPool& pool) const override {
    return open(options, room, pool, {});
  }
  // exchange: of a rank whose stage has several.
  std::unique_ptr<StageExecutor> open(const ExecutorOptions& options, const KvRoom& room,
                                      ThreadPool& pool, const RankExchange& exchange) const;

  const Weights& weights() const { return weights_; }

 private:
  Weights weights_;
};

const Device& cpu_device();

}  // namespace pando::exec
