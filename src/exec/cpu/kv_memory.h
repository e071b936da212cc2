// The bytes behind pages of keys and values.
#pragma once

#include <cstddef>
#include <span>

#include "base/aligned_buffer.h"
#include "kernel/kv_layout.h"

namespace pando::exec {

// Takes address space at once, and memory when a page is first used. One thread.
class KvMemory {
 public:
  KvMemory(const kernel::KvShape& shape, size_t n_pages)
      : shape_(shape), memory_(n_pages * shape.page_bytes()) {}

  kernel::KvView view() const { return {.base = memory_.data(), .shape = shape_}; }
  const kernel::KvShape& shape() const { return shape_; }

  // Asks the system for memory behind 2 MiB more of the pages from n_touched on. In a virtual
  // machine the first touch of these takes up to 5 ms. False where all pages have memory.
  bool prepare(size_t n_touched);
  // Bytes of the pages from n_touched on that have memory behind them.
  size_t ready_bytes(size_t n_touched) const;

 private:
  kernel::KvShape shape_;
  AlignedBuffer memory_;
  size_t ready_ = 0;  // bytes [0, ready_) were prepared
};

// The pages of all layers, or of those without and of those with a window.
struct KvViews {
  kernel::KvView pages;
  kernel::KvView windows = {};
};

}  // namespace pando::exec
