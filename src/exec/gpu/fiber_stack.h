// A stack for code that can switch to another stack in the middle of a function.
#pragma once

#include <cstddef>
#include <memory>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace pando::exec::gpu {

class FiberStack {
 public:
  FiberStack() = default;  // the thread's own stack
  // Runs entry() at the first switch to this stack; entry() never returns. Stacks of different
  // colours use different cache lines.
  FiberStack(void (*entry)(), int colour);
  ~FiberStack();
  FiberStack(const FiberStack&) = delete;
  FiberStack& operator=(const FiberStack&) = delete;

  // Leaves `from`, on which the call runs, for `to`. Returns when somebody switches to `from`.
  [[gnu::always_inline]] static inline void change(FiberStack& from, FiberStack& to);
  // The first call of entry(). `first`: the stack of the thread, which leaves itself for the first
  // of all new stacks.
  static void arrive(FiberStack& first);

 private:
#if defined(__x86_64__)
  using Place = void*;  // on the stack: where to go on, and the frame's register
#else
  using Place = ucontext_t;
#endif
  static inline void leave(Place* from, Place* to);

  std::unique_ptr<char[]> memory_;
  Place place_ = {};
  const void* bottom_ = nullptr;
  size_t n_bytes_ = 0;
#if defined(__SANITIZE_ADDRESS__)
  void* locals_ = nullptr;  // the sanitizer's, of code that has left this stack
#elif defined(__SANITIZE_THREAD__)
  void* fiber_ = nullptr;
#endif
};

// swapcontext() would call the kernel of the system. A jump, and no return: processors foresee it.
[[gnu::always_inline]] inline void FiberStack::leave(Place* from, Place* to) {
#if defined(__x86_64__)
  void* next = *to;
  asm volatile(
      "leaq -128(%%rsp), %%rsp\n\t"  // the red zone
      "pushq %%rbp\n\t"
      "leaq 1f(%%rip), %%rax\n\t"
      "pushq %%rax\n\t"
      "movq %%rsp, (%%rdi)\n\t"
      "movq %%rsi, %%rsp\n\t"
      "popq %%rax\n\t"
      "jmp *%%rax\n"
      "1:\n\t"
      "popq %%rbp\n\t"
      "leaq 128(%%rsp), %%rsp"
      : "+D"(from), "+S"(next)
      :
      : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0",
        "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
        "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
#else
  swapcontext(from, to);
#endif
}

inline void FiberStack::change(FiberStack& from, FiberStack& to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.locals_, to.bottom_, to.n_bytes_);
  leave(&from.place_, &to.place_);
  __sanitizer_finish_switch_fiber(from.locals_, nullptr, nullptr);
#elif defined(__SANITIZE_THREAD__)
  if (from.fiber_ == nullptr) from.fiber_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(to.fiber_, 0);
  leave(&from.place_, &to.place_);
#else
  leave(&from.place_, &to.place_);
#endif
}

}  // namespace pando::exec::gpu
