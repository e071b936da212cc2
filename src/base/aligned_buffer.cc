#include "base/aligned_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <new>

namespace pando {
namespace {

constexpr size_t kHuge = size_t{2} << 20;     // a huge page
constexpr size_t kShared = size_t{64} << 20;  // least size of a mapping that neighbours share
constexpr size_t kLine = 64;

size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

// Zeros from the operating system; large ones begin at a huge page.
class Mapping {
 public:
  explicit Mapping(size_t n_bytes) : size_(n_bytes) {
    const size_t slack = n_bytes >= kHuge ? kHuge : 0;
    void* const found = mmap(nullptr, n_bytes + slack, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (found == MAP_FAILED) throw std::bad_alloc();
    mapped_ = static_cast<std::byte*>(found);
    mapped_size_ = n_bytes + slack;
    begin_ = mapped_;
    if (slack == 0) return;
    const auto address = reinterpret_cast<uintptr_t>(mapped_);
    begin_ += round_up(address, kHuge) - address;
    madvise(begin_, n_bytes, MADV_HUGEPAGE);  // a hint: refusal costs speed only
  }
  ~Mapping() { munmap(mapped_, mapped_size_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  // The next n_bytes; null if they do not fit.
  std::byte* take(size_t n_bytes) {
    if (left() < n_bytes) return nullptr;
    std::byte* const at = begin_ + used_;
    used_ += std::min(round_up(n_bytes, kLine), left());
    return at;
  }
  size_t left() const { return size_ - used_; }

 private:
  size_t size_, used_ = 0, mapped_size_ = 0;
  std::byte* mapped_ = nullptr;
  std::byte* begin_ = nullptr;
};

}  // namespace

AlignedBuffer::AlignedBuffer(size_t n_bytes) : size_(n_bytes) {
  if (n_bytes == 0) return;
  const auto mapping = std::make_shared<Mapping>(n_bytes);
  data_ = mapping->take(n_bytes);
  mapping_ = mapping;
}

void AlignedBuffer::populate(size_t begin, size_t end) const {
  // Whole pages only. A hint: older kernels (before Linux 5.14) refuse it.
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<uintptr_t>(data_ + begin) / page * page;
  const auto last = reinterpret_cast<uintptr_t>(data_ + end) / page * page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_POPULATE_WRITE);
}

AlignedBuffer AlignedBuffer::beside_others(size_t n_bytes) {
  static std::mutex mutex;
  static std::weak_ptr<Mapping> latest;  // lives as long as one of its buffers
  AlignedBuffer buffer;
  if (n_bytes == 0) return buffer;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Mapping> mapping = latest.lock();
  buffer.data_ = mapping ? mapping->take(n_bytes) : nullptr;
  if (buffer.data_ == nullptr) {
    const size_t left = mapping ? mapping->left() : 0;
    mapping = std::make_shared<Mapping>(std::max(kShared, round_up(n_bytes, kHuge)));
    buffer.data_ = mapping->take(n_bytes);
    if (mapping->left() >= left) latest = mapping;  // the mapping with more room is filled first
  }
  buffer.size_ = n_bytes;
  buffer.mapping_ = std::move(mapping);
  return buffer;
}

}  // namespace pando
