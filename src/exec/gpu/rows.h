// Rows of f32 values in the memory of a device.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/gpu/host.h"

namespace pando::exec::gpu {

struct Rows {
  // Changes the shape and leaves values undefined. Memory never shrinks.
  void resize(Host& host, uint32_t n_rows, size_t row_width) {
    n = n_rows;
    width = row_width;
    const size_t wanted = n * width * sizeof(float);
    if (wanted > values.bytes()) values = Buffer(host, wanted);
  }

  uint32_t n = 0;
  size_t width = 0;
  Buffer values;  // [n, width], then unused room
};

// A list in the memory of a device. A step's plan fills it.
template <class T>
class List {
 public:
  void set(Host& host, const std::vector<T>& from) {
    n_ = from.size();
    const size_t wanted = n_ * sizeof(T);
    if (wanted > buffer_.bytes()) buffer_ = Buffer(host, wanted + wanted / 2);  // steps grow slowly
    if (wanted > 0) host.write(buffer_, 0, from.data(), wanted);
  }
  size_t size() const { return n_; }
  const Buffer& buffer() const { return buffer_; }

 private:
  size_t n_ = 0;
  Buffer buffer_;
};

}  // namespace pando::exec::gpu
