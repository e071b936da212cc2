// Numbers by which a plan names memory of an executor: pages of keys and values, and slots of
// recurrent states. Only the executor knows their bytes.
#pragma once

#include <cstdint>
#include <utility>

namespace pando {

using PageId = uint32_t;
inline constexpr PageId kNoPage = ~PageId{0};

// The place of one row's key and value: position `offset` of page `page`.
struct KvSlot {
  PageId page;
  uint32_t offset;  // in [0, page_len)
  bool operator==(const KvSlot&) const = default;
};

// The first n_positions of `from`, all layers and heads, are copied to `to` (copy on write).
struct PageCopy {
  PageId from;
  PageId to;
  uint32_t n_positions;
  bool operator==(const PageCopy&) const = default;
};

// Rows [row_begin, row_end) of a step against tile `tile` of their paths, which is the same
// physical pages for all of them. A row sees the positions of the tile up to its own; a row of a
// text (TextPasses) sees all of them that belong to its text.
struct AttentionTask {
  uint32_t tile;       // positions [tile * tile_len, (tile + 1) * tile_len)
  uint32_t row_begin;  // rows of the step
  uint32_t row_end;
  uint32_t first_page;  // index into the step's list of task pages
  uint32_t n_pages;     // enough for the last visible position; at most the pages of a tile
  bool operator==(const AttentionTask&) const = default;
};

using StateSlot = uint32_t;
inline constexpr StateSlot kNoStateSlot = ~StateSlot{0};  // before the first position: zeros

// Rows [row_begin, row_end) of a step, at consecutive positions of one path. They go on from the
// state in slot `from`; kNoStateSlot: the path begins here. A slot may be one that an earlier task
// of the step writes.
struct StateTask {
  uint32_t row_begin;
  uint32_t row_end;
  StateSlot from;
  bool operator==(const StateTask&) const = default;
};

// The state after row `row` goes to slot `to`. No earlier task of the step reads that slot.
struct StateWrite {
  uint32_t row;
  StateSlot to;
  bool operator==(const StateWrite&) const = default;
};

// Rows [row_begin, row_end) of a step are all rows of one text, which see one another. A text of
// n rows in a model of L layers takes L + 1 passes over its rows. Pass p of a row computes layer
// p - 1, where there is one, and then queries, keys and values of layer p, where there is one; the
// rows of the last pass are outputs. Every row ends a pass before any begins the next. A step does
// all that lies from row `first_row` of pass `first_pass` up to row `end_row` of pass `end_pass`,
// rows counted in the text. Its pages keep what the next step needs.
struct TextPasses {
  uint32_t row_begin;
  uint32_t row_end;
  uint32_t first_pass, first_row;
  uint32_t end_pass, end_row;
  uint32_t n_rows() const { return row_end - row_begin; }
  // The rows of the text, [first, second), that the step takes through a pass.
  std::pair<uint32_t, uint32_t> rows_of(uint32_t pass) const {
    if (pass < first_pass || pass > end_pass) return {0, 0};
    return {pass == first_pass ? first_row : 0, pass == end_pass ? end_row : n_rows()};
  }
  bool operator==(const TextPasses&) const = default;
};

}  // namespace pando
