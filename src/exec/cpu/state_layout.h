// Layout of a state slot: offsets of the layers. kernel/state_layout.h describes the part of one
// layer.
#pragma once

#include <cstddef>
#include <vector>

#include "contract/model_spec.h"
#include "exec/cpu/kernel/state_layout.h"

namespace pando::exec {

// The memory of all slots, side by side, each StateLayout::slot_bytes() long. A view.
struct StateMemory {
  float* base = nullptr;  // at a cache line; null: no slot
};

// Fixed by the configuration alone. Layers stand in their order, each at a cache line.
class StateLayout {
 public:
  explicit StateLayout(const model::ModelSpec& spec);

  size_t slot_bytes() const { return slot_floats_ * sizeof(float); }  // 0: no recurrent layer
  // The slots as recurrent layer `layer` of the model sees them.
  kernel::StateView view(const StateMemory& memory, int layer) const {
    return {memory.base + parts_[layer].begin, slot_floats_, parts_[layer].shape};
  }

 private:
  struct Part {
    size_t begin;  // in a slot, in f32 values
    kernel::StateShape shape;
  };
  std::vector<Part> parts_;  // [n_layers]; empty ones of attention layers
  size_t slot_floats_ = 0;
};

// The state of one layer of that kind.
kernel::StateShape state_shape(const model::ModelSpec& spec, model::Mixer mixer);

}  // namespace pando::exec
