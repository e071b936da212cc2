#include "base/memory.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <atomic>
#include <cstdlib>
#include <new>

namespace pando {
namespace {

std::atomic<void*> g_first, g_second;

void on_failure() {
  if (void* part = g_first.exchange(nullptr)) {
    std::free(part);
    return;  // the allocation is tried again
  }
  std::free(g_second.exchange(nullptr));
  throw std::bad_alloc();
}

bool fill_part(std::atomic<void*>& part) {
  if (part != nullptr) return true;
  void* fresh = std::malloc(MemoryReserve::kPart);
  if (fresh == nullptr) return false;
  void* nothing = nullptr;
  if (!part.compare_exchange_strong(nothing, fresh)) std::free(fresh);  // another thread was first
  return true;
}

}  // namespace

bool MemoryReserve::fill() {
  std::set_new_handler(on_failure);
  return fill_part(g_first) && fill_part(g_second);
}

void give_back_memory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace pando
