#include "exec/gpu/nvrtc.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "exec/gpu/cuda_api.h"
#include "exec/gpu/library.h"

namespace pando::exec::gpu {
namespace {

struct NvrtcProgram;

// X(name, parameters); each returns an nvrtcResult.
#define PANDO_NVRTC_FUNCTIONS(X)                                                             \
  X(nvrtcGetNumSupportedArchs, (int*))                                                       \
  X(nvrtcGetSupportedArchs, (int*))                                                          \
  X(nvrtcCreateProgram,                                                                      \
    (NvrtcProgram**, const char*, const char*, int, const char* const*, const char* const*)) \
  X(nvrtcDestroyProgram, (NvrtcProgram**))                                                   \
  X(nvrtcCompileProgram, (NvrtcProgram*, int, const char* const*))                           \
  X(nvrtcGetProgramLogSize, (NvrtcProgram*, size_t*))                                        \
  X(nvrtcGetProgramLog, (NvrtcProgram*, char*))                                              \
  X(nvrtcGetCUBINSize, (NvrtcProgram*, size_t*))                                             \
  X(nvrtcGetCUBIN, (NvrtcProgram*, char*))                                                   \
  X(nvrtcGetPTXSize, (NvrtcProgram*, size_t*))                                               \
  X(nvrtcGetPTX, (NvrtcProgram*, char*))

struct NvrtcApi {
#define PANDO_NVRTC_POINTER(name, parameters) int(*name) parameters = nullptr;
  PANDO_NVRTC_FUNCTIONS(PANDO_NVRTC_POINTER)
#undef PANDO_NVRTC_POINTER
  std::string problem;
};

// A driver loads no machine code of a compiler of a later CUDA.
bool driver_is_older_than(int version) {
  int found = 0;
  return cuda::api().problem.empty() && cuda::api().cuDriverGetVersion(&found) == 0 &&
         found < version;
}

NvrtcApi load_nvrtc() {
  NvrtcApi api;
  std::vector<const char*> names = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                                    "/usr/local/cuda/lib64/libnvrtc.so"};
  if (driver_is_older_than(13000)) std::swap(names[0], names[1]);
  Library library(names);
#define PANDO_NVRTC_FIND(name, parameters) library.find(#name, api.name);
  PANDO_NVRTC_FUNCTIONS(PANDO_NVRTC_FIND)
#undef PANDO_NVRTC_FIND
  api.problem = library.problem();
  return api;
}

const NvrtcApi& nvrtc() {
  static const NvrtcApi loaded = load_nvrtc();
  return loaded;
}

// The newest architecture that the compiler knows, up to this one; 0 if it knows none.
int known_architecture(Capability capability) {
  int n = 0;
  if (nvrtc().nvrtcGetNumSupportedArchs(&n) != 0 || n <= 0) return 0;
  std::vector<int> all(n);
  if (nvrtc().nvrtcGetSupportedArchs(all.data()) != 0) return 0;
  int best = 0;
  for (const int number : all)
    if (number <= capability.number()) best = std::max(best, number);
  return best;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

using Program = std::unique_ptr<NvrtcProgram, void (*)(NvrtcProgram*)>;

// Reads a result by two calls: one gives its size, the other its bytes.
std::string read_by(int (*size_of)(NvrtcProgram*, size_t*), int (*bytes_of)(NvrtcProgram*, char*),
                    NvrtcProgram* program) {
  size_t n = 0;
  if (size_of(program, &n) != 0) return {};
  std::string bytes(n, '\0');
  if (n == 0 || bytes_of(program, bytes.data()) != 0) return {};
  return bytes;
}

}  // namespace

Status check_nvrtc(Capability capability) {
  if (!nvrtc().problem.empty())
    return unsupported("there is no compiler (NVRTC): {}", nvrtc().problem);
  if (known_architecture(capability) == 0)
    return unsupported("the compiler (NVRTC) does not know compute capability {}.{}",
                       capability.major, capability.minor);
  return {};
}

Result<std::string> compile_cuda(std::string_view source, Capability capability) {
  if (Status status = check_nvrtc(capability); !status) return status.error();
  NvrtcProgram* made = nullptr;
  const std::string text(source);
  if (nvrtc().nvrtcCreateProgram(&made, text.c_str(), "kernels.cu", 0, nullptr, nullptr) != 0)
    return unsupported("the compiler (NVRTC) cannot begin");
  const Program program(made, [](NvrtcProgram* ended) { nvrtc().nvrtcDestroyProgram(&ended); });
  const int architecture = known_architecture(capability);
  const bool is_exact = architecture == capability.number();
  const std::string target =
      fmt::format("--gpu-architecture={}_{}", is_exact ? "sm" : "compute", architecture);
  const std::vector<const char*> options = {target.c_str(), "--fmad=false", "--ftz=false",
                                            "--prec-div=true", "--prec-sqrt=true"};
  if (nvrtc().nvrtcCompileProgram(program.get(), static_cast<int>(options.size()),
                                  options.data()) != 0)
    return unsupported("the compiler (NVRTC) refuses the kernels: {}",
                       first_line(read_by(nvrtc().nvrtcGetProgramLogSize,
                                          nvrtc().nvrtcGetProgramLog, program.get())));
  std::string code = is_exact
                         ? read_by(nvrtc().nvrtcGetCUBINSize, nvrtc().nvrtcGetCUBIN, program.get())
                         : read_by(nvrtc().nvrtcGetPTXSize, nvrtc().nvrtcGetPTX, program.get());
  if (code.empty()) return unsupported("the compiler (NVRTC) gives no code for {}", target);
  return code;
}

}  // namespace pando::exec::gpu
