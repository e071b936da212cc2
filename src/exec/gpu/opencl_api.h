// Functions of OpenCL 1.2, with the types of its specification. The build needs no OpenCL header or
// library: libOpenCL.so.1 is opened at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace pando::exec::gpu::opencl {

struct PlatformId;
struct DeviceId;
struct Context;
struct Queue;
struct Program;
struct KernelObject;
struct Mem;
struct Event;
using Notify = void (*)(const char*, const void*, size_t, void*);
using Built = void (*)(Program*, void*);

// X(name, result, parameters)
#define PANDO_OPENCL_FUNCTIONS(X)                                                               \
  X(clGetPlatformIDs, int32_t, (uint32_t, PlatformId**, uint32_t*))                             \
  X(clGetDeviceIDs, int32_t, (PlatformId*, uint64_t, uint32_t, DeviceId**, uint32_t*))          \
  X(clGetDeviceInfo, int32_t, (DeviceId*, uint32_t, size_t, void*, size_t*))                    \
  X(clCreateContext, Context*,                                                                  \
    (const intptr_t*, uint32_t, DeviceId* const*, Notify, void*, int32_t*))                     \
  X(clReleaseContext, int32_t, (Context*))                                                      \
  X(clCreateCommandQueue, Queue*, (Context*, DeviceId*, uint64_t, int32_t*))                    \
  X(clReleaseCommandQueue, int32_t, (Queue*))                                                   \
  X(clFinish, int32_t, (Queue*))                                                                \
  X(clCreateProgramWithSource, Program*,                                                        \
    (Context*, uint32_t, const char**, const size_t*, int32_t*))                                \
  X(clBuildProgram, int32_t, (Program*, uint32_t, DeviceId* const*, const char*, Built, void*)) \
  X(clGetProgramBuildInfo, int32_t, (Program*, DeviceId*, uint32_t, size_t, void*, size_t*))    \
  X(clReleaseProgram, int32_t, (Program*))                                                      \
  X(clCreateKernel, KernelObject*, (Program*, const char*, int32_t*))                           \
  X(clReleaseKernel, int32_t, (KernelObject*))                                                  \
  X(clSetKernelArg, int32_t, (KernelObject*, uint32_t, size_t, const void*))                    \
  X(clCreateBuffer, Mem*, (Context*, uint64_t, size_t, void*, int32_t*))                        \
  X(clReleaseMemObject, int32_t, (Mem*))                                                        \
  X(clEnqueueNDRangeKernel, int32_t,                                                            \
    (Queue*, KernelObject*, uint32_t, const size_t*, const size_t*, const size_t*, uint32_t,    \
     Event* const*, Event**))                                                                   \
  X(clEnqueueWriteBuffer, int32_t,                                                              \
    (Queue*, Mem*, uint32_t, size_t, size_t, const void*, uint32_t, Event* const*, Event**))    \
  X(clEnqueueReadBuffer, int32_t,                                                               \
    (Queue*, Mem*, uint32_t, size_t, size_t, void*, uint32_t, Event* const*, Event**))          \
  X(clEnqueueFillBuffer, int32_t,                                                               \
    (Queue*, Mem*, const void*, size_t, size_t, size_t, uint32_t, Event* const*, Event**))

struct Api {
#define PANDO_OPENCL_POINTER(name, result, parameters) result(*name) parameters = nullptr;
  PANDO_OPENCL_FUNCTIONS(PANDO_OPENCL_POINTER)
#undef PANDO_OPENCL_POINTER
  std::string problem;  // why OpenCL cannot be used; "": it can
};
const Api& api();

// Values of CL/cl.h.
inline constexpr int32_t kAllocationFailed = -4, kOutOfResources = -5, kOutOfHostMemory = -6,
                         kInvalidBufferSize = -61, kNoPlatform = -1001;  // the last: of the loader
inline constexpr uint64_t kAllDevices = 0xFFFFFFFF, kCpuType = 1 << 1, kGpuType = 1 << 2;
inline constexpr uint32_t kDeviceType = 0x1000, kMaxMemAllocSize = 0x1010, kSingleFpConfig = 0x101B,
                          kGlobalMemSize = 0x101F, kCompilerAvailable = 0x1028,
                          kDeviceName = 0x102B, kDriverVersion = 0x102D;
inline constexpr uint32_t kBuildLog = 0x1183, kHostUnifiedMemory = 0x1035;
inline constexpr uint64_t kFpDenorm = 1 << 0, kFpFma = 1 << 5, kFpDivideSqrt = 1 << 7;
inline constexpr uint64_t kMemReadWrite = 1 << 0;

}  // namespace pando::exec::gpu::opencl
