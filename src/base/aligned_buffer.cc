#include "base/aligned_buffer.h"

#include <sys/mman.h>

#include <new>

namespace pando {

AlignedBuffer::AlignedBuffer(size_t n_bytes) : size_(n_bytes) {
  if (n_bytes == 0) return;
  void* memory = mmap(nullptr, n_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  constexpr size_t kHuge = size_t{2} << 20;
  if (n_bytes >= kHuge)
    madvise(memory, n_bytes, MADV_HUGEPAGE);  // a hint: refusal costs speed only
  data_ = static_cast<std::byte*>(memory);
}

AlignedBuffer::~AlignedBuffer() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace pando
