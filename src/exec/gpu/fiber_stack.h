// A stack for code that can switch to another stack in the middle of a function.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <memory>

namespace pando::exec::gpu {

class FiberStack {
 public:
  FiberStack() = default;  // the thread's own stack
  // Runs entry() at the first switch to this stack; entry() never returns. Stacks of different
  // colours use different cache lines.
  FiberStack(void (*entry)(), int colour);

  // Switches from `from`, the current stack, to `to`. Returns when some call switches back.
  static void change(FiberStack& from, FiberStack& to);
  // entry() calls this first. `first`: the thread's stack, which switches to the first new stack.
  static void arrive(FiberStack& first);

 private:
  std::unique_ptr<char[]> memory_;
#if defined(__x86_64__)
  void* place_ = nullptr;  // address of the saved registers
#else
  ucontext_t context_;
#endif
  const void* bottom_ = nullptr;  // for the address sanitizer
  size_t n_bytes_ = 0;
};

}  // namespace pando::exec::gpu
