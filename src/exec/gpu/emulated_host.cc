#include "exec/gpu/emulated_host.h"

#include <cstring>
#include <new>

#include "base/check.h"
#include "exec/gpu/emulated_kernels.h"

namespace pando::exec::gpu {
namespace {

constexpr std::align_val_t kAlignment{64};

char* bytes_at(const Buffer& buffer, size_t offset, size_t n) {
  PANDO_CHECK(offset <= buffer.bytes() && n <= buffer.bytes() - offset);
  return reinterpret_cast<char*>(buffer.handle()) + offset;
}

}  // namespace

void EmulatedHost::write(const Buffer& to, size_t offset, const void* from, size_t n) {
  if (n > 0) std::memcpy(bytes_at(to, offset, n), from, n);
}

void EmulatedHost::read(const Buffer& from, size_t offset, void* to, size_t n) {
  if (n > 0) std::memcpy(to, bytes_at(from, offset, n), n);
}

void EmulatedHost::fill(const Buffer& to, size_t offset, uint8_t value, size_t n) {
  if (n > 0) std::memset(bytes_at(to, offset, n), value, n);
}

void EmulatedHost::launch(Kernel kernel, Groups groups, std::span<const Arg> args) {
  launch_emulated(kernel, groups, args, options_);
}

uint64_t EmulatedHost::allocate(size_t n) {
  void* const memory = ::operator new(n, kAlignment);
  std::memset(memory, 0xff, n);
  return reinterpret_cast<uint64_t>(memory);
}

void EmulatedHost::release(uint64_t handle) {
  ::operator delete(reinterpret_cast<void*>(handle), kAlignment);
}

}  // namespace pando::exec::gpu
