#include "exec/gpu/library.h"

#include <dlfcn.h>

namespace pando::exec::gpu {

Library::Library(const std::vector<const char*>& names) {
  for (const char* name : names) {
    handle_ = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) {
      problem_.clear();
      return;
    }
    const char* const words = dlerror();
    if (problem_.empty() && words != nullptr) problem_ = words;
  }
}

void* Library::symbol(const char* name) {
  if (handle_ == nullptr) return nullptr;
  void* const found = dlsym(handle_, name);
  if (found == nullptr && problem_.empty()) {
    const char* const words = dlerror();
    problem_ = words != nullptr ? words : std::string("no symbol ") + name;
  }
  return found;
}

}  // namespace pando::exec::gpu
