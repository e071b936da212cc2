// The memory of weights before they are loaded.
#pragma once

#include <cstdint>
#include <optional>

#include "model/weights.h"

namespace pando::model {

// Bytes, about, that the matrices of a model take which Weights::open has opened, loaded as
// Weights::load does. Reads nothing of them.
uint64_t bytes_needed(const Weights& opened, std::optional<DType> requantised);

}  // namespace pando::model
