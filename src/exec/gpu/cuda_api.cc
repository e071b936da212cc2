#include "exec/gpu/cuda_api.h"

#include <fmt/format.h>

#include "exec/gpu/library.h"

namespace pando::exec::gpu::cuda {
namespace {

std::string words_by(const Api& api, int code) {
  const char* words = nullptr;
  if (api.cuGetErrorString == nullptr || api.cuGetErrorString(code, &words) != 0 ||
      words == nullptr)
    return fmt::format("error {} of CUDA", code);
  return words;
}

Api load_api() {
  Api api;
  Library library({"libcuda.so.1"});
#define PANDO_CUDA_FIND(name, parameters) library.find(#name, api.name);
  PANDO_CUDA_FUNCTIONS(PANDO_CUDA_FIND)
#undef PANDO_CUDA_FIND
  api.problem = library.problem();
  if (!api.problem.empty()) return api;
  if (const int code = api.cuInit(0); code != 0) api.problem = words_by(api, code);
  return api;
}

}  // namespace

const Api& api() {
  static const Api loaded = load_api();
  return loaded;
}

std::string words_of(int code) { return words_by(api(), code); }

}  // namespace pando::exec::gpu::cuda
