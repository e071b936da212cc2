#include "exec/gpu/fiber_stack.h"

#include <cstdint>

namespace pando::exec::gpu {
namespace {

constexpr size_t kBytes = size_t{128} << 10;

}  // namespace

FiberStack::FiberStack(void (*entry)(), int colour)
    : memory_(std::make_unique_for_overwrite<char[]>(kBytes)),
      bottom_(memory_.get()),
      n_bytes_(kBytes - static_cast<size_t>(colour % 16) * 256) {
#if defined(__SANITIZE_THREAD__)
  fiber_ = __tsan_create_fiber(0);
#endif
#if defined(__x86_64__)
  const uintptr_t top = reinterpret_cast<uintptr_t>(memory_.get() + n_bytes_) & ~uintptr_t{15};
  void** const words = reinterpret_cast<void**>(top) - 2;
  words[0] = reinterpret_cast<void*>(entry);
  words[1] = nullptr;  // the address that entry() would return to
  place_ = words;
#else
  getcontext(&place_);
  place_.uc_stack.ss_sp = memory_.get();
  place_.uc_stack.ss_size = n_bytes_;
  place_.uc_link = nullptr;
  makecontext(&place_, entry, 0);
#endif
}

FiberStack::~FiberStack() {
#if defined(__SANITIZE_THREAD__)
  if (memory_ != nullptr) __tsan_destroy_fiber(fiber_);
#endif
}

void FiberStack::arrive([[maybe_unused]] FiberStack& first) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, first.bottom_ == nullptr ? &first.bottom_ : nullptr,
                                  first.n_bytes_ == 0 ? &first.n_bytes_ : nullptr);
#endif
}

}  // namespace pando::exec::gpu
