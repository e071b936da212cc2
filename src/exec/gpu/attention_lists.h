// The work of attention as lists for a device: blocks of queries, and the tiles that they see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "contract/step_plan.h"

namespace pando::exec::gpu {

// Layers with equal forms share their lists.
struct AttentionForm {
  uint32_t page_len, tile_len, span_len;
  uint32_t window;       // positions; 0: no window
  uint32_t rows_each;    // rows of a block, at most
  uint32_t wide_from;    // blocks of so many rows or more use the wide kernels
  uint64_t most_states;  // limit of a turn; a turn of one row may exceed it
  bool in_windows;       // pages are the plan's window pages
  bool operator==(const AttentionForm&) const = default;
};

// Entries of the lists. kernels/attention.h reads them as arrays of u32.

inline constexpr uint32_t kNoState = ~uint32_t{0};

struct AttentionRow {
  uint32_t first_seen, last_seen;  // positions
  // Index of the states of the first span that the row sees; later spans follow. kNoState: the row
  // sees one span, so its result is the output.
  uint32_t first_state;
};

// A block of rows against one span.
struct AttentionItem {
  uint32_t row_begin, n_rows;
  uint32_t span;
  uint32_t segment_begin, segment_end;
};

// Rows of an item that see the same pages of a tile.
struct AttentionSegment {
  uint32_t row_begin, row_end;  // of the item
  uint32_t tile;
  uint32_t first_page;  // index into task pages
  uint32_t begin, end;  // positions of the tile that at least one row sees
  uint32_t is_whole;    // 1: the segment has all rows of the item, and each sees [begin, end)
};

struct ItemRange {
  uint32_t begin = 0, end = 0;
  uint32_t n() const { return end - begin; }
};

// Rows whose states are in memory at the same time.
struct AttentionTurn {
  ItemRange narrow, wide;  // items for the narrow and for the wide kernels
  ItemRange merged;        // of merged_rows
};

struct AttentionLists {
  std::vector<AttentionRow> rows;  // [n_rows]
  std::vector<AttentionItem> items;
  std::vector<AttentionSegment> segments;
  std::vector<uint32_t> merged_rows;  // rows that see more than one span
  std::vector<AttentionTurn> turns;
  uint64_t n_states = 0;  // of the largest turn
};

AttentionLists attention_lists(const StepPlan& plan, const AttentionForm& form);

}  // namespace pando::exec::gpu
