// Pool of pages of keys and values: reference counts within a budget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "contract/pages.h"

namespace pando {

// Owned by one engine and touched by its thread only. Counts pages; the executor owns their bytes.
// Pages may be divided into parts of equal size, part after part, each in another memory.
class PagePool {
 public:
  explicit PagePool(size_t n_pages, uint32_t n_parts = 1);

  // A page of the part with one reference, its contents undefined; nothing when all its pages are
  // taken. Pages that were used before go first, and of these the page that was freed last.
  std::optional<PageId> allocate(uint32_t part = 0);
  void add_ref(PageId page);
  // Drops one reference; the last one frees the page.
  void release(PageId page);

  uint32_t n_refs(PageId page) const { return n_refs_[page]; }
  size_t n_pages() const { return n_refs_.size(); }
  size_t n_free() const;
  size_t n_free(uint32_t part) const {
    return n_pages_each_ - parts_[part].n_touched + parts_[part].free.size();
  }
  size_t n_used() const { return n_pages() - n_free(); }
  // Pages that were handed out at least once, in all parts or in one. They are the first of their
  // part.
  size_t n_touched() const;
  size_t n_touched(uint32_t part) const { return parts_[part].n_touched; }

  uint32_t n_parts() const { return static_cast<uint32_t>(parts_.size()); }
  uint32_t part_of(PageId page) const { return static_cast<uint32_t>(page / n_pages_each_); }
  size_t n_pages_each() const { return n_pages_each_; }  // of a part

 private:
  struct Part {
    std::vector<PageId> free;  // used before, free now
    size_t n_touched = 0;
  };

  std::vector<uint32_t> n_refs_;  // [n_pages]
  size_t n_pages_each_;
  std::vector<Part> parts_;
};

}  // namespace pando
