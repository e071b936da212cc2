// A device of this machine that is not open yet.
#pragma once

#include <cstdint>
#include <string>

namespace pando::exec::gpu {

struct Offer {
  std::string description;      // "NVIDIA H200, driver 580.82"
  uint64_t memory_bytes = 0;    // in all
  std::string refusal;          // the reason why it cannot be used; "": it can
  bool has_own_memory = false;  // beside that of the machine
  uint64_t largest_buffer = 0;  // bytes that one buffer may have; 0: no limit
};

}  // namespace pando::exec::gpu
