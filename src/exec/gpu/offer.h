// A device of this machine that is not open yet.
#pragma once

#include <cstdint>
#include <string>

namespace pando::exec::gpu {

struct Offer {
  std::string description;    // "NVIDIA H200, driver 580.82"
  uint64_t memory_bytes = 0;  // total
  std::string refusal;        // why the device cannot be used; "": it can
};

}  // namespace pando::exec::gpu
