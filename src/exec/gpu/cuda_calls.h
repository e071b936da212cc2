// Calls of a CUDA stream, as values that can be compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "exec/gpu/cuda_api.h"
#include "exec/gpu/host.h"

namespace pando::exec::gpu::cuda {

class Calls {
 public:
  // Each adds a call, or throws std::bad_alloc and adds none.
  // from: pinned memory, which keeps its bytes until the device has read them.
  void write(DevicePointer to, const void* from, size_t n);
  void fill(DevicePointer to, uint8_t value, size_t n);
  void launch(Kernel kernel, Groups groups, std::span<const Arg> args);

  size_t size() const { return calls_.size(); }
  void clear();
  // True if call i has the kind of the other's call i: a copy, a fill, or a launch of this kernel.
  bool is_alike(const Calls& other, size_t i) const;
  // True if call i equals the other's call i, its arguments too. All calls before must be alike.
  bool is_equal(const Calls& other, size_t i) const;

  // Puts call i into the stream, and takes no memory of the host, so that a capture always ends.
  // functions: by Kernel. Returns a CUresult.
  int make(size_t i, std::span<Function* const> functions, Stream* stream) const;
  const char* name(size_t i) const;  // of the driver's function, or of the kernel

 private:
  enum class Kind { kWrite, kFill, kLaunch };
  struct Call {
    Kind kind = Kind::kLaunch;
    uint8_t value = 0;  // of a fill
    Kernel kernel{};
    Groups groups;
    DevicePointer to = 0;
    const void* from = nullptr;
    size_t n = 0;  // bytes
    size_t first_argument = 0, n_arguments = 0;
    bool operator==(const Call&) const = default;
  };
  std::span<const uint64_t> arguments(const Call& call) const {
    return std::span(arguments_).subspan(call.first_argument, call.n_arguments);
  }

  std::vector<Call> calls_;
  std::vector<uint64_t> arguments_;  // one word each; it begins with the value's bytes
};

}  // namespace pando::exec::gpu::cuda
