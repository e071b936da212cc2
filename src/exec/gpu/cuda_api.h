// Functions of NVIDIA's driver and of its run-time compiler (NVRTC), by the names that their
// libraries export. The build needs none of their headers or libraries: libcuda.so.1 and
// libnvrtc.so are opened at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace pando::exec::gpu::cuda {

struct Context;
struct Module;
struct Function;
struct Stream;
struct Graph;
struct Executable;  // of a graph
using DevicePointer = unsigned long long;

// CUgraphExecUpdateResultInfo
struct UpdateResult {
  int result;
  void *node, *from_node;
};

// X(name, parameters); each returns a CUresult.
#define PANDO_CUDA_FUNCTIONS(X)                                                             \
  X(cuInit, (unsigned))                                                                     \
  X(cuGetErrorString, (int, const char**))                                                  \
  X(cuDriverGetVersion, (int*))                                                             \
  X(cuDeviceGetCount, (int*))                                                               \
  X(cuDeviceGet, (int*, int))                                                               \
  X(cuDeviceGetName, (char*, int, int))                                                     \
  X(cuDeviceTotalMem_v2, (size_t*, int))                                                    \
  X(cuDeviceGetAttribute, (int*, int, int))                                                 \
  X(cuDevicePrimaryCtxRetain, (Context**, int))                                             \
  X(cuDevicePrimaryCtxRelease_v2, (int))                                                    \
  X(cuCtxSetCurrent, (Context*))                                                            \
  X(cuStreamCreate, (Stream**, unsigned))                                                   \
  X(cuStreamDestroy_v2, (Stream*))                                                          \
  X(cuStreamSynchronize, (Stream*))                                                         \
  X(cuMemAlloc_v2, (DevicePointer*, size_t))                                                \
  X(cuMemFree_v2, (DevicePointer))                                                          \
  X(cuMemAllocHost_v2, (void**, size_t))                                                    \
  X(cuMemFreeHost, (void*))                                                                 \
  X(cuMemcpyHtoDAsync_v2, (DevicePointer, const void*, size_t, Stream*))                    \
  X(cuMemcpyDtoHAsync_v2, (void*, DevicePointer, size_t, Stream*))                          \
  X(cuMemsetD8Async, (DevicePointer, unsigned char, size_t, Stream*))                       \
  X(cuStreamBeginCapture_v2, (Stream*, int))                                                \
  X(cuStreamEndCapture, (Stream*, Graph**))                                                 \
  X(cuGraphDestroy, (Graph*))                                                               \
  X(cuGraphInstantiateWithFlags, (Executable**, Graph*, unsigned long long))                \
  X(cuGraphExecUpdate_v2, (Executable*, Graph*, UpdateResult*))                             \
  X(cuGraphLaunch, (Executable*, Stream*))                                                  \
  X(cuGraphExecDestroy, (Executable*))                                                      \
  X(cuModuleLoadData, (Module**, const void*))                                              \
  X(cuModuleUnload, (Module*))                                                              \
  X(cuModuleGetFunction, (Function**, Module*, const char*))                                \
  X(cuLaunchKernel, (Function*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
                     unsigned, Stream*, void**, void**))

struct Api {
#define PANDO_CUDA_POINTER(name, parameters) int(*name) parameters = nullptr;
  PANDO_CUDA_FUNCTIONS(PANDO_CUDA_POINTER)
#undef PANDO_CUDA_POINTER
  std::string problem;  // why CUDA cannot be used; "": it can
};
const Api& api();

// "out of memory"
std::string words_of(int code);

// Values of cuda.h.
inline constexpr int kOutOfMemory = 2;
inline constexpr int kCapabilityMajor = 75, kCapabilityMinor = 76;
inline constexpr unsigned kNonBlocking = 1;
inline constexpr int kCaptureOfThread = 1;

}  // namespace pando::exec::gpu::cuda
