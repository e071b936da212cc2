// Arrays one after another in memory that is at hand, each aligned for vectors.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pando::kernel {

// With no memory it only counts.
class WorkSpace {
 public:
  explicit WorkSpace(std::byte* memory) : memory_(memory) {}
  float* floats(size_t n) { return reinterpret_cast<float*>(take(n * sizeof(float))); }
  int32_t* ints(size_t n) { return reinterpret_cast<int32_t*>(take(n * sizeof(int32_t))); }
  std::byte* take(size_t n_bytes) {
    const size_t at = n_bytes_;
    n_bytes_ += (n_bytes + 63) / 64 * 64;
    return memory_ == nullptr ? nullptr : memory_ + at;
  }
  size_t n_bytes() const { return n_bytes_; }

 private:
  std::byte* memory_;
  size_t n_bytes_ = 0;
};

}  // namespace pando::kernel
