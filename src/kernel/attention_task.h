// One piece of a step's attention, as a plain value.
#pragma once

#include <cstdint>

namespace pando::kernel {

// Rows [row_begin, row_end) of a step against tile `tile` of their paths, which is the same
// physical pages for all of them. A row sees the positions of the tile up to its own.
struct AttentionTask {
  uint32_t tile;       // positions [tile * tile_len, (tile + 1) * tile_len)
  uint32_t row_begin;  // rows of the step
  uint32_t row_end;
  uint32_t first_page;  // index into the step's list of task pages
  uint32_t n_pages;     // enough for the last visible position; at most pages_per_tile()
  bool operator==(const AttentionTask&) const = default;
};

}  // namespace pando::kernel
