// A host whose memory is the CPU's and whose kernels run as an emulation: for tests, and where
// there is no GPU.
#pragma once

#include <string>

#include "exec/gpu/host.h"
#include "exec/gpu/work_group.h"

namespace pando::exec::gpu {

// New memory holds NaN.
class EmulatedHost : public Host {
 public:
  explicit EmulatedHost(WorkGroupOptions options = {}) : options_(options) {}

  std::string name() const override { return "emulated"; }
  void write(const Buffer& to, size_t offset, const void* from, size_t n) override;
  void read(const Buffer& from, size_t offset, void* to, size_t n) override;
  void fill(const Buffer& to, size_t offset, uint8_t value, size_t n) override;
  void launch(Kernel kernel, Groups groups, std::span<const Arg> args) override;

 private:
  uint64_t allocate(size_t n) override;
  void release(uint64_t handle) override;

  WorkGroupOptions options_;
};

}  // namespace pando::exec::gpu
