#include "exec/cpu/kv_memory.h"

#include <algorithm>
#include <cstring>

#include "base/memory_nodes.h"

namespace pando::exec {

size_t page_bytes(std::span<const kernel::KvShape> groups) {
  size_t sum = 0;
  for (const kernel::KvShape& group : groups) sum += group.page_bytes();
  return sum;
}

KvMemory::KvMemory(std::span<const kernel::KvShape> groups, size_t n_pages)
    : page_bytes_(page_bytes(groups)), memory_(n_pages * page_bytes_) {
  std::byte* base = memory_.data();
  for (const kernel::KvShape& group : groups) {
    views_.push_back({.base = base, .shape = group, .page_bytes = page_bytes_});
    base += group.page_bytes();
  }
}

bool KvMemory::prepare(size_t n_touched) {
  constexpr size_t kPiece = size_t{2} << 20;
  const size_t begin = std::max(ready_, n_touched * page_bytes_);
  if (begin >= memory_.size()) return false;
  ready_ = std::min((begin / kPiece + 1) * kPiece, memory_.size());
  MemoryNodes::here().populate(memory_, begin, ready_, begin / kPiece);
  return true;
}

size_t KvMemory::ready_bytes(size_t n_touched) const {
  const size_t used = n_touched * page_bytes_;
  return std::max(ready_, used) - used;
}

std::vector<PageId> fresh_pages(std::span<const PageCopy> copies, std::span<const KvSlot> slots) {
  std::vector<PageId> pages;
  for (const PageCopy& copy : copies) pages.push_back(copy.to);
  for (const KvSlot& slot : slots)
    if (slot.offset == 0) pages.push_back(slot.page);
  std::erase_if(pages, [&](PageId page) {
    return std::ranges::find(copies, page, &PageCopy::from) != copies.end();
  });
  return pages;
}

void poison_pages(const kernel::KvView& view, std::span<const PageCopy> copies,
                  std::span<const KvSlot> slots) {
  for (const PageId page : fresh_pages(copies, slots))
    std::memset(view.page(page), 0xff, view.shape.page_bytes());
}

}  // namespace pando::exec
