// The memory and the queue of a GPU or of the emulation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "exec/gpu/kernel_ids.h"

namespace pando::exec::gpu {

class Host;

// Bytes in the memory of a host. The host outlives the buffer; the destructor frees the bytes.
class Buffer {
 public:
  Buffer() = default;                  // no memory
  Buffer(Host& host, size_t n_bytes);  // throws std::bad_alloc
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer();

  size_t bytes() const { return bytes_; }
  bool empty() const { return bytes_ == 0; }
  uint64_t handle() const { return handle_; }  // known to the host alone

 private:
  void swap(Buffer& other) noexcept;

  Host* host_ = nullptr;
  uint64_t handle_ = 0;
  size_t bytes_ = 0;
};

// An argument of a kernel. A buffer that is null or empty arrives as a null pointer.
using Arg = std::variant<const Buffer*, int32_t, uint32_t, uint64_t, float>;

// Work groups of a launch.
struct Groups {
  uint32_t x = 1, y = 1, z = 1;
  bool operator==(const Groups&) const = default;
};

// Carries out calls in their order. One thread uses it. If the device fails, calls throw
// std::runtime_error with the device's message.
class Host {
 public:
  virtual ~Host() = default;
  virtual std::string name() const = 0;  // "NVIDIA H200"

  // The bytes at `from` may change after the return.
  virtual void write(const Buffer& to, size_t offset, const void* from, size_t n) = 0;
  // Waits for all that was called before, also for no bytes, and throws if that failed.
  virtual void read(const Buffer& from, size_t offset, void* to, size_t n) = 0;
  virtual void fill(const Buffer& to, size_t offset, uint8_t value, size_t n) = 0;
  // Does nothing if `groups` is empty.
  virtual void launch(Kernel kernel, Groups groups, std::span<const Arg> args) = 0;

 private:
  friend class Buffer;
  virtual uint64_t allocate(size_t n) = 0;  // throws std::bad_alloc
  virtual void release(uint64_t handle) = 0;
};

}  // namespace pando::exec::gpu
