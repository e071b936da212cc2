// A vector of f32 weights in the memory of a device.
#pragma once

#include <cstddef>
#include <vector>

#include "exec/gpu/host.h"

namespace pando::exec::gpu {

struct Values {
  Buffer buffer;  // [n]
  size_t n = 0;

  bool empty() const { return n == 0; }
  static Values of(Host& host, const std::vector<float>& from) {
    Values values{Buffer(host, from.size() * sizeof(float)), from.size()};
    if (!from.empty()) host.write(values.buffer, 0, from.data(), values.buffer.bytes());
    return values;
  }
};

}  // namespace pando::exec::gpu
