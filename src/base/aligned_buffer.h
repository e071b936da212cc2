// A block of memory aligned for vectors and, when large, backed by huge pages.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace pando {

// Owns its bytes; moves, never copies. Fresh memory is zero and costs nothing until touched. It
// begins at a cache line: rows that are whole lines share none, and loads and stores of a vector
// register then never take two.
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // Throws std::bad_alloc if the operating system has no address space left.
  explicit AlignedBuffer(size_t n_bytes);
  // Makes the same, side by side with others made so, in huge pages that they have in common: for
  // what is read from end to end and lives about as long as its neighbours, as weights do. Their
  // memory is given back together. Hardware fetches ahead within a page only: with 4 KiB pages
  // weights of q8_0 are read at 17 GB/s, so at 25 (Zen 4, one thread, 3 MiB each).
  static AlignedBuffer beside_others(size_t n_bytes);

  AlignedBuffer(AlignedBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        mapping_(std::move(other.mapping_)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(mapping_, other.mapping_);
    return *this;
  }

  // Has room for at least n_bytes. If it has to grow, it grows by half and loses its contents.
  void reserve(size_t n_bytes) {
    if (size_ < n_bytes) *this = AlignedBuffer(size_ == 0 ? n_bytes : n_bytes + n_bytes / 2);
  }

  std::byte* data() const { return data_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }
  size_t size() const { return size_; }  // bytes

  // Asks the operating system for memory behind bytes [begin, end) now, rather than at the first
  // touch, if it can. Contents stay.
  void populate(size_t begin, size_t end) const;

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  std::shared_ptr<const void> mapping_;  // the bytes are part of it
};

}  // namespace pando
