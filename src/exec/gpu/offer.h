// A device of the machine, before it is opened.
#pragma once

#include <cstdint>
#include <string>

namespace pando::exec::gpu {

struct Offer {
  std::string description;    // "NVIDIA H200, driver 580.82"
  uint64_t memory_bytes = 0;  // in all
  std::string refusal;        // the reason why it cannot be used; "": it can
};

}  // namespace pando::exec::gpu
