// Devices by name. Their code is on floors below; callers include this floor alone.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"
#include "contract/executor.h"
#include "contract/model_spec.h"
#include "contract/share.h"
#include "contract/tensor_source.h"
#include "pando/values/kernel_check.h"
#include "pando/values/result.h"

namespace pando {

class Device;

struct WeightOptions {
  std::optional<DType> requantised = {};  // type that matrices become; absent: as stored
  ModelShare share = {};                  // the part of the model to be loaded
};

// The weights of a model in the layout of a device. Immutable; any number of executors share it.
class DeviceModel {
 public:
  virtual ~DeviceModel() = default;
  virtual const Device& device() const = 0;
  virtual const model::ModelSpec& spec() const = 0;  // of the whole model
  virtual const ModelShare& share() const = 0;
  virtual std::string weight_type() const = 0;  // of most of them: "q4_K"
  virtual size_t weight_bytes() const = 0;      // in memory
  // room: of options.kv, by Device::kv_room. Model and pool outlive the executor. Throws
  // std::bad_alloc.
  virtual std::unique_ptr<StageExecutor> open(const ExecutorOptions& options, const KvRoom& room,
                                              ThreadPool& pool) const = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;    // "cpu"
  virtual std::string description() const = 0;  // of this machine's, in one line
  virtual uint64_t memory_bytes() const = 0;    // of its memory, in all; 0: unknown
  // The same if the memory is the device's own; 0: it is the machine's.
  virtual uint64_t own_memory_bytes() const { return 0; }
  // Upper bound of the default memory for keys and values, in bytes; 0: there is none.
  virtual uint64_t largest_buffer_bytes() const { return 0; }
  // The reason why this machine cannot compute with it; "": it can. May open a driver.
  virtual std::string refusal() const { return {}; }
  // Ranks can divide the outputs of its matrices (tp), and the positions of paths (kvp).
  virtual bool divides_rows() const = 0;
  // The instruction set of that name, or the best one for "", as ExecutorFacts::name has it.
  // kInvalidArgument for one that is not there.
  virtual Result<std::string> isa_name(std::string_view isa) const = 0;
  // A line of text for each better instruction set whose matrix products are wrong on this machine,
  // and which is not used therefore.
  virtual std::vector<std::string> warnings() const = 0;

  // Compares every bit of each kernel with exec/scalar. kInvalidArgument if the device has none.
  virtual Result<std::vector<KernelCheck>> check_kernels() const = 0;

  // Packs the tensors. `source` outlives the model.
  virtual Result<std::unique_ptr<DeviceModel>> load(const model::ModelSpec& spec,
                                                    const model::TensorSource& source,
                                                    const WeightOptions& options,
                                                    ThreadPool& pool) const = 0;
  // Approximate memory of the weights, in bytes.
  virtual uint64_t weight_bytes(const model::ModelSpec& spec, const model::TensorSource& source,
                                const WeightOptions& options) const = 0;
  // Bytes that an executor keeps for a model besides weights, keys and values.
  virtual uint64_t fixed_bytes(const model::ModelSpec& spec, int context) const = 0;
  // spec: of the whole model, or of a share. kInvalidArgument if the memory holds too little.
  virtual Result<KvRoom> kv_room(const model::ModelSpec& spec, const KvOptions& options) const = 0;
  // Keys and values of one position, in all layers.
  virtual size_t kv_bytes_per_token(const model::ModelSpec& spec, DType type) const = 0;
};

// The devices of this build; the first is the default. Defined below the waist, in exec/devices.cc.
std::span<const Device* const> devices();
// kInvalidArgument names those that there are. "": the default.
Result<const Device*> find_device(std::string_view name);

}  // namespace pando
