// A compiler for tests: libnvrtc.so, whose machine code is the source itself.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>

#include "cuda/driver.h"

namespace {

constexpr int kArchitectures[] = {75, 80, 90};
constexpr int kInvalidInput = 3, kCompilation = 6, kInvalidOption = 5;

struct Program {
  std::string source, log, code;
};

int copy(const std::string& from, char* to) {
  std::memcpy(to, from.c_str(), from.size() + 1);
  return 0;
}
int size_of(const std::string& text, size_t* n) {
  *n = text.size() + 1;
  return 0;
}

}  // namespace

#define NVRTC extern "C" PANDO_DRIVER int

NVRTC nvrtcGetNumSupportedArchs(int* n) {
  *n = static_cast<int>(std::size(kArchitectures));
  return 0;
}
NVRTC nvrtcGetSupportedArchs(int* all) {
  std::ranges::copy(kArchitectures, all);
  return 0;
}
NVRTC nvrtcCreateProgram(Program** made, const char* source, const char*, int n_headers,
                         const char* const*, const char* const*) {
  if (n_headers != 0) return kInvalidInput;
  *made = new Program{source, "", ""};
  return 0;
}
NVRTC nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return 0;
}
NVRTC nvrtcCompileProgram(Program* program, int n, const char* const* options) {
  for (int i = 0; i < n; ++i)
    if (!std::string_view(options[i]).starts_with("--")) return kInvalidOption;
  if (program->source.find("__global__") == std::string::npos) {
    program->log = "kernels.cu(1): error: no kernel\nand one more line";
    return kCompilation;
  }
  program->code = program->source;
  return 0;
}
NVRTC nvrtcGetProgramLogSize(Program* program, size_t* n) { return size_of(program->log, n); }
NVRTC nvrtcGetProgramLog(Program* program, char* to) { return copy(program->log, to); }
NVRTC nvrtcGetCUBINSize(Program* program, size_t* n) { return size_of(program->code, n); }
NVRTC nvrtcGetCUBIN(Program* program, char* to) { return copy(program->code, to); }
NVRTC nvrtcGetPTXSize(Program* program, size_t* n) { return size_of(program->code, n); }
NVRTC nvrtcGetPTX(Program* program, char* to) { return copy(program->code, to); }
