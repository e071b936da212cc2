// Memory for the moment in which there is none: operator new of the program `pando`.
//
// Whatever is unwound or destroyed may need some bytes: a coroutine that ends posts a message, a
// tree of JSON makes a list of its nodes. Where these fail the process ends. So allocations of up
// to kLargest bytes that the system refuses come from memory that was set aside at the start;
// larger ones throw std::bad_alloc, which is answered in words. The memory is address space until
// it is used.
#include <malloc.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>

namespace {

constexpr size_t kArena = size_t{32} << 20, kLargest = size_t{512} << 10, kSmall = 4096,
                 kSmallest = 64;

// Blocks of powers of two, each behind the list that it goes back to.
class SpareMemory {
 public:
  SpareMemory() {
    void* found = ::mmap(nullptr, kArena, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (found != MAP_FAILED) begin_ = static_cast<std::byte*>(found);
  }

  void* take(size_t n_bytes) {
    if (n_bytes > kLargest || begin_ == nullptr) return nullptr;
    const size_t size =
        std::bit_ceil(n_bytes + sizeof(Head) < kSmallest ? kSmallest : n_bytes + sizeof(Head));
    const auto list = static_cast<size_t>(std::countr_zero(size / kSmallest));
    const std::lock_guard lock(mutex_);
    Head* head = free_[list];
    if (head != nullptr) {
      free_[list] = head->next;
    } else if (n_used_ + size <= kArena) {
      head = reinterpret_cast<Head*>(begin_ + n_used_);
      n_used_ += size;
    } else {
      return nullptr;
    }
    head->list = list;
    return head + 1;
  }

  bool owns(const void* memory) const {
    const auto at = reinterpret_cast<uintptr_t>(memory), from = reinterpret_cast<uintptr_t>(begin_);
    return begin_ != nullptr && at >= from && at < from + kArena;
  }

  void give(void* memory) {
    Head* head = static_cast<Head*>(memory) - 1;
    const std::lock_guard lock(mutex_);
    head->next = free_[head->list];
    free_[head->list] = head;
  }

 private:
  struct alignas(std::max_align_t) Head {
    Head* next;
    size_t list;
  };
  static constexpr size_t kLists = std::countr_zero(2 * kLargest / kSmallest) + 1;

  std::byte* begin_ = nullptr;
  size_t n_used_ = 0;
  std::array<Head*, kLists> free_ = {};
  std::mutex mutex_;
};

// Nothing before it is made, and never destroyed: what ends last may free yet.
SpareMemory* g_spare = nullptr;
[[gnu::constructor]] void set_aside() {
#if defined(__GLIBC__)
  // A thread for which no arena of its own can be mapped maps a page for every allocation.
  mallopt(M_ARENA_MAX, 2);
#endif
  alignas(SpareMemory) static std::byte place[sizeof(SpareMemory)];
  g_spare = new (place) SpareMemory;
}

}  // namespace

void* operator new(size_t n_bytes) {
  // A system that has just refused is not asked each time, which takes microseconds.
  constexpr int kUnasked = 1000;
  static std::atomic<int> n_unasked = 0;
  if (n_unasked > 0 && n_bytes <= kSmall) {
    --n_unasked;
    if (void* memory = g_spare->take(n_bytes)) return memory;
  }
  if (void* memory = std::malloc(n_bytes == 0 ? 1 : n_bytes)) return memory;
  if (g_spare != nullptr)
    if (void* memory = g_spare->take(n_bytes)) {
      n_unasked = kUnasked;
      return memory;
    }
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept {
  if (g_spare != nullptr && g_spare->owns(memory)) return g_spare->give(memory);
  std::free(memory);
}

void operator delete(void* memory, size_t) noexcept { operator delete(memory); }
