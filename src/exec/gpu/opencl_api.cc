#include "exec/gpu/opencl_api.h"

#include "exec/gpu/library.h"

namespace pando::exec::gpu::opencl {
namespace {

Api load_api() {
  Api api;
  Library library({"libOpenCL.so.1"});
#define PANDO_OPENCL_FIND(name, result, parameters) library.find(#name, api.name);
  PANDO_OPENCL_FUNCTIONS(PANDO_OPENCL_FIND)
#undef PANDO_OPENCL_FIND
  api.problem = library.problem();
  return api;
}

}  // namespace

const Api& api() {
  static const Api loaded = load_api();
  return loaded;
}

}  // namespace pando::exec::gpu::opencl
