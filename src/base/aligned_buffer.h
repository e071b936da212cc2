// A block of memory aligned for vectors and, when large, backed by huge pages.
#pragma once

#include <cstddef>
#include <utility>

namespace pando {

// Owns its bytes; moves, never copies. Fresh memory is zero and costs nothing until touched.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // Throws std::bad_alloc where the operating system has no address space left.
  explicit AlignedBuffer(size_t n_bytes);
  ~AlignedBuffer();
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  std::byte* data() const { return data_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }
  size_t size() const { return size_; }  // bytes

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace pando
