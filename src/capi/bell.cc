#include "capi/bell.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace pando::capi {

Bell::~Bell() {
  if (descriptor_ >= 0) close(descriptor_);
}

void Bell::ring() {
  waker_.wake();
  const int to = descriptor_;
  constexpr uint64_t kOne = 1;
  // A full counter refuses it, and is readable.
  if (to >= 0) (void)!write(to, &kOne, sizeof kOne);
}

// The first value tells of rings before: whoever rang then may not know the descriptor.
int Bell::descriptor() {
  if (descriptor_ < 0) descriptor_ = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
  return descriptor_;
}

void Bell::quiet() {
  const int from = descriptor_;
  uint64_t n_rings = 0;
  if (from >= 0) (void)!read(from, &n_rings, sizeof n_rings);
}

}  // namespace pando::capi
