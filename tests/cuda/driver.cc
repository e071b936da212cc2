#include "cuda/driver.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "cuda/driver_state.h"

namespace pando::testing::cuda {
namespace {

using Address = unsigned long long;

constexpr size_t kMostGroups = 65535, kMostGroupsX = 0x7fffffff, kMostThreads = 1024;
constexpr size_t kMostShared = size_t{48} << 10;  // without an attribute of the function

constexpr struct {
  int code;
  const char* words;
} kWords[] = {
    {kInvalidValue, "invalid argument"},
    {kNoMemory, "out of memory"},
    {kNotInitialised, "initialization error"},
    {kNoImage, "device kernel image is invalid"},
    {kInvalidContext, "invalid device context"},
    {kNotFound, "named symbol not found"},
    {kIllegalAddress, "an illegal memory access was encountered"},
    {kLaunchFailed, "unspecified launch failure"},
    {kCaptureUnsupported, "operation not permitted when stream is capturing"},
    {kCaptureInvalidated, "operation failed due to a previous error during capture"},
    {kCaptureUnmatched, "the capture was not begun"},
    {kUpdateFailed, "the graph update was not performed"},
};

// Puts an operation into a stream, or into the graph that it captures.
int push(Stream* stream, Operation operation) {
  if (!state().streams.has(stream)) return kInvalidValue;
  if (stream->captured && stream->is_broken) return kCaptureInvalidated;
  (stream->captured ? stream->captured->operations : stream->pending)
      .push_back(std::move(operation));
  return 0;
}

int copy_in(Address to, const void* from, size_t n, Stream* stream) {
  if (!state().memory.has(to, n)) return kInvalidValue;
  Operation copy{.kind = Operation::kCopyIn, .device = to, .host = from, .n = n};
  if (!state().pinned.has(reinterpret_cast<uint64_t>(from), n)) {
    if (breaks_capture()) return kCaptureUnsupported;
    const auto* const bytes = static_cast<const std::byte*>(from);
    copy.copied.assign(bytes, bytes + n);
  }
  return push(stream, std::move(copy));
}

bool is_launched(const Function* function) {
  for (auto& [module, owner] : state().modules)
    for (const auto& [name, own] : module->functions)
      if (&own == function) return true;
  return false;
}

int launch(const Function* function, const unsigned (&groups)[3], unsigned n_threads, size_t shared,
           Stream* stream, void* const* arguments) {
  if (!is_launched(function)) return kInvalidValue;
  const auto kernel = static_cast<size_t>(function->kernel);
  if (n_threads != static_cast<unsigned>(exec::gpu::kKernels[kernel].n_threads) ||
      n_threads > kMostThreads || shared > kMostShared || std::ranges::count(groups, 0u) > 0 ||
      groups[0] > kMostGroupsX || groups[1] > kMostGroups || groups[2] > kMostGroups)
    return kInvalidValue;
  Operation launched{.kind = Operation::kLaunch,
                     .kernel = function->kernel,
                     .groups = {groups[0], groups[1], groups[2]}};
  for (const Parameter& parameter : parameters_of(function->kernel)) {
    const void* const argument = arguments[launched.arguments.size()];
    if (argument == nullptr) return kInvalidValue;
    std::memcpy(&launched.arguments.emplace_back(0), argument, parameter.n_bytes);
  }
  return push(stream, std::move(launched));
}

}  // namespace

DRIVER cuInit(unsigned) {
  state().is_initialised = true;
  ENTER(Needs::kNothing);
  return 0;
}
DRIVER cuGetErrorString(int code, const char** words) {
  const auto found = std::ranges::find(kWords, code, [](const auto& one) { return one.code; });
  *words = found == std::end(kWords) ? nullptr : found->words;
  return *words == nullptr ? kInvalidValue : 0;
}
DRIVER cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
DRIVER cuDeviceGetCount(int* n) {
  ENTER(Needs::kNothing);
  *n = 1;
  return 0;
}
DRIVER cuDeviceGet(int* device, int index) {
  ENTER(Needs::kNothing);
  *device = index;
  return index == 0 ? 0 : kInvalidValue;
}
DRIVER cuDeviceGetName(char* name, int n, int) {
  std::strncpy(name, "Test GPU", static_cast<size_t>(n));
  return 0;
}
DRIVER cuDeviceTotalMem_v2(size_t* n, int) {
  *n = kMemory;
  return 0;
}
DRIVER cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 75 ? 9 : 0;  // compute capability 9.0
  return attribute == 75 || attribute == 76 ? 0 : kInvalidValue;
}

DRIVER cuDevicePrimaryCtxRetain(Context** context, int) {
  ENTER(Needs::kNothing);
  ++state().n_retained;
  *context = &state().context;
  return 0;
}
// The last release frees all that a lost context holds.
DRIVER cuDevicePrimaryCtxRelease_v2(int) {
  ENTER(Needs::kNothing);
  State& all = state();
  if (all.n_retained == 0) return kInvalidContext;
  if (--all.n_retained > 0 || all.lost == 0) return 0;
  all.lost = 0;
  all.memory.clear();
  all.pinned.clear();
  all.streams.clear();
  all.modules.clear();
  all.graphs.clear();
  all.executables.clear();
  return 0;
}
DRIVER cuCtxSetCurrent(Context* context) {
  ENTER(Needs::kNothing);
  set_current(context);
  return 0;
}

DRIVER cuStreamCreate(Stream** stream, unsigned) {
  ENTER(Needs::kContext);
  *stream = state().streams.add(std::make_unique<Stream>());
  return 0;
}
DRIVER cuStreamDestroy_v2(Stream* stream) {
  ENTER(Needs::kNoCapture);
  return destroy(state().streams, stream);
}
DRIVER cuStreamSynchronize(Stream* stream) {
  ENTER(Needs::kNoCapture);
  return state().streams.has(stream) ? carry_out(*stream) : kInvalidValue;
}

DRIVER cuMemAlloc_v2(Address* address, size_t n) {
  ENTER(Needs::kNoCapture);
  if (n == 0) return kInvalidValue;
  if (n > kMemory - state().memory.bytes()) return kNoMemory;
  *address = state().memory.allocate(n);
  return 0;
}
DRIVER cuMemFree_v2(Address address) {
  ENTER(Needs::kNoCapture);
  return state().memory.free(address) ? 0 : kInvalidValue;
}
DRIVER cuMemAllocHost_v2(void** memory, size_t n) {
  ENTER(Needs::kNoCapture);
  *memory = reinterpret_cast<void*>(state().pinned.allocate(n));
  return 0;
}
DRIVER cuMemFreeHost(void* memory) {
  ENTER(Needs::kNoCapture);
  return state().pinned.free(reinterpret_cast<uint64_t>(memory)) ? 0 : kInvalidValue;
}
DRIVER cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t n, Stream* stream) {
  ENTER(Needs::kContext);
  return copy_in(to, from, n, stream);
}
DRIVER cuMemcpyDtoHAsync_v2(void* to, Address from, size_t n, Stream* stream) {
  ENTER(Needs::kContext);
  if (!state().memory.has(from, n)) return kInvalidValue;
  return push(stream, {.kind = Operation::kCopyOut, .device = from, .host = to, .n = n});
}
DRIVER cuMemsetD8Async(Address to, unsigned char value, size_t n, Stream* stream) {
  ENTER(Needs::kContext);
  if (!state().memory.has(to, n)) return kInvalidValue;
  return push(stream, {.kind = Operation::kFill, .device = to, .n = n, .value = value});
}

DRIVER cuModuleLoadData(Module** module, const void* image) {
  ENTER(Needs::kNoCapture);
  auto made = std::make_unique<Module>(Module{static_cast<const char*>(image), {}});
  if (made->image.find("__global__") == std::string::npos) return kNoImage;
  *module = state().modules.add(std::move(made));
  return 0;
}
DRIVER cuModuleUnload(Module* module) {
  ENTER(Needs::kNoCapture);
  return destroy(state().modules, module);
}
// Macros of the kernels' source make the first word of some names.
DRIVER cuModuleGetFunction(Function** function, Module* module, const char* name) {
  ENTER(Needs::kContext);
  if (!state().modules.has(module)) return kInvalidValue;
  const auto kernel = kernel_named(name);
  const std::string_view words(name);
  if (!kernel || module->image.find(words.substr(words.find('_') + 1)) == std::string::npos)
    return kNotFound;
  *function = &(module->functions[name] = {module, *kernel});
  return 0;
}
DRIVER cuLaunchKernel(Function* function, unsigned x, unsigned y, unsigned z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared, Stream* stream,
                      void** arguments, void** extra) {
  ENTER(Needs::kContext);
  if (extra != nullptr || block_y != 1 || block_z != 1) return kInvalidValue;
  return launch(function, {x, y, z}, block_x, shared, stream, arguments);
}

}  // namespace pando::testing::cuda
