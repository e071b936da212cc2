// A driver for tests: the functions of libcuda.so.1 that exec/gpu/cuda_api.h names, run on the
// processor. It carries out streams as late as a driver may: when something waits for them.
#pragma once

#include <cstddef>
#include <string>

#define PANDO_DRIVER [[gnu::visibility("default")]]

namespace pando::testing::cuda {

// Objects of the driver that the program holds.
struct Held {
  size_t memory = 0, pinned = 0;  // allocations of the device, and of pinned memory
  size_t contexts = 0, streams = 0, modules = 0, graphs = 0, executables = 0;
  bool operator==(const Held&) const = default;
};
PANDO_DRIVER Held held();

// Number of calls of a function that gave no error since the last call of reset_counts().
PANDO_DRIVER size_t n_calls(const std::string& function);
PANDO_DRIVER void reset_counts();

// The nth call of `function` from now on returns `code` and does nothing. 1: the next. After
// kIllegalAddress and kLaunchFailed, all calls of the context return that code.
PANDO_DRIVER void fail(const std::string& function, int nth, int code);

// CUresult of cuda.h.
enum Code {
  kInvalidValue = 1,
  kNoMemory = 2,
  kNotInitialised = 3,
  kInvalidContext = 201,
  kNoImage = 200,
  kNotFound = 500,
  kIllegalAddress = 700,
  kLaunchFailed = 719,
  kCaptureUnsupported = 900,
  kCaptureInvalidated = 901,
  kCaptureUnmatched = 903,
  kUpdateFailed = 910,
};

// The device's memory in bytes.
inline constexpr size_t kMemory = size_t{1} << 27;

}  // namespace pando::testing::cuda
