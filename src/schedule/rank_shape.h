// How steps are divided over processes: the figures that predicted times depend on.
#pragma once

#include <cstdint>

namespace pando {

struct RankShape {
  uint32_t n_stages = 1;    // of layers
  uint32_t depth = 1;       // steps in flight at most
  uint32_t slice_rows = 0;  // rows that flow through the stages together; 0: all rows of a step
  uint32_t n_parts = 1;     // of the positions of paths
  uint32_t block_len = 0;   // positions of a path in one part before the next part follows
  uint32_t part_rows = 1;   // fewest rows of a part, if rows are divided evenly
};

}  // namespace pando
