#include "exec/gpu/fiber_stack.h"

#include <algorithm>
#include <cstdint>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#else
#define __sanitizer_start_switch_fiber(...)
#define __sanitizer_finish_switch_fiber(...)
#endif

// Used instead of swapcontext(), which makes a system call.
#if defined(__x86_64__)
extern "C" void pando_change_stack(void** from, void* to);
asm(R"(
.pushsection .text
.hidden pando_change_stack
.globl pando_change_stack
.type pando_change_stack, @function
pando_change_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size pando_change_stack, .-pando_change_stack
.popsection
)");
#endif

namespace pando::exec::gpu {
namespace {

constexpr size_t kBytes = size_t{128} << 10;

}  // namespace

FiberStack::FiberStack(void (*entry)(), int colour)
    : memory_(std::make_unique_for_overwrite<char[]>(kBytes)),
      bottom_(memory_.get()),
      n_bytes_(kBytes - static_cast<size_t>(colour % 16) * 256) {
#if defined(__x86_64__)
  const uintptr_t top = reinterpret_cast<uintptr_t>(memory_.get() + n_bytes_) & ~uintptr_t{15};
  void** const words = reinterpret_cast<void**>(top) - 8;  // six registers, entry, a return address
  std::fill_n(words, 8, nullptr);
  words[6] = reinterpret_cast<void*>(entry);
  place_ = words;
#else
  getcontext(&context_);
  context_.uc_stack.ss_sp = memory_.get();
  context_.uc_stack.ss_size = n_bytes_;
  context_.uc_link = nullptr;
  makecontext(&context_, entry, 0);
#endif
}

void FiberStack::change(FiberStack& from, FiberStack& to) {
  __sanitizer_start_switch_fiber(nullptr, to.bottom_, to.n_bytes_);
#if defined(__x86_64__)
  pando_change_stack(&from.place_, to.place_);
#else
  swapcontext(&from.context_, &to.context_);
#endif
  __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
}

void FiberStack::arrive([[maybe_unused]] FiberStack& first) {
  __sanitizer_finish_switch_fiber(nullptr, first.bottom_ == nullptr ? &first.bottom_ : nullptr,
                                  first.n_bytes_ == 0 ? &first.n_bytes_ : nullptr);
}

}  // namespace pando::exec::gpu
