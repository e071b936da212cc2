// Which sequences advance by how many rows in a step. Pure: no clock, threads or I/O, no tree.
#pragma once

#include <cstdint>
#include <vector>

namespace pando {

// The work in front of the scheduler. Work that several sequences share is one segment, so it
// counts once however many wait for it.
struct WorkView {
  struct Item {
    bool decoding = false;           // running, and one row from its next token
    std::vector<uint32_t> segments;  // indices into segment_rows, in the order of its path
    bool cached = false;             // nothing is missing: its last row is computed again
  };
  std::vector<uint32_t> segment_rows;  // rows of each segment that are not computed yet
  std::vector<Item> items;             // in order of arrival
};

struct Advance {
  uint32_t item;    // index into WorkView::items
  uint32_t n_rows;  // new rows to compute for it, beyond what earlier advances compute
};

// Decodes first, then prefill in order of arrival (FCFS), up to `budget` rows in all. A sequence
// whose missing rows are all taken by others before it advances for free.
std::vector<Advance> schedule_fcfs(const WorkView& view, uint32_t budget);

}  // namespace pando
