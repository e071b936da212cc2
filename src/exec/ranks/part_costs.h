// Time that the parts of a model take on this machine.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/thread_pool.h"
#include "contract/device.h"

namespace pando::exec {

// A typical step: rows of a prompt, behind others, of which some have logits.
constexpr uint32_t kTypicalRows = 64, kTypicalPast = 1024, kTypicalLogits = 16;

// Seconds of a typical step in one process.
struct PartCosts {
  std::vector<double> layers;  // [n_layers]
  double head = 0;
};

// Loads one layer of each kind and some rows of the head, and runs them. Layers are of one kind if
// their configuration and the types of their weights are equal. kUnsupported for devices other than
// the processor, and for models with layers that have inputs of their own or read the keys of
// others.
Result<PartCosts> measure_parts(const Device& device, const model::ModelSpec& spec,
                                const model::TensorSource& source, std::optional<DType> requantised,
                                ThreadPool& pool);

}  // namespace pando::exec
