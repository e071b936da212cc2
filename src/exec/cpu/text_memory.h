// Text memory holds what rows of a text keep from pass to pass, beside keys and values.
#pragma once

#include <cstddef>

#include "base/aligned_buffer.h"
#include "contract/pages.h"

namespace pando::exec {

// A row for every position of every page: its hidden state, then its queries, as f32. Address space
// from the start, memory when a page is first used.
class TextMemory {
 public:
  TextMemory(size_t n_pages, int page_len, size_t row_bytes)
      : page_len_(static_cast<size_t>(page_len)),
        row_bytes_(row_bytes),
        memory_(n_pages * page_len_ * row_bytes) {}

  float* row(const KvSlot& slot) const {
    return reinterpret_cast<float*>(memory_.data() +
                                    (slot.page * page_len_ + slot.offset) * row_bytes_);
  }
  size_t row_bytes() const { return row_bytes_; }

 private:
  size_t page_len_, row_bytes_;
  AlignedBuffer memory_;
};

}  // namespace pando::exec
