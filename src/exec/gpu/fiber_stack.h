// A stack on which code runs, and which it can leave for another in the middle of a function.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <memory>

namespace pando::exec::gpu {

class FiberStack {
 public:
  FiberStack() = default;  // that of the thread
  // Runs entry(), which never returns, as soon as it is switched to. Stacks of different colours
  // use different lines of the cache.
  FiberStack(void (*entry)(), int colour);

  // Leaves `from`, on which the call runs, for `to`. Returns when somebody switches to `from`.
  static void change(FiberStack& from, FiberStack& to);
  // The first call of entry(). `left`: the stack that was left for it.
  static void arrive(FiberStack& left);

 private:
  std::unique_ptr<char[]> memory_;
#if defined(__x86_64__)
  void* place_ = nullptr;  // of the saved registers
#else
  ucontext_t context_;
#endif
  const void* bottom_ = nullptr;  // for the address sanitizer
  size_t n_bytes_ = 0;
};

}  // namespace pando::exec::gpu
