// Chooses the sequences that advance in a step, and their rows. Pure: no clock, threads or I/O, no
// tree.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/rank_shape.h"

namespace pando {

// The work in front of the scheduler. Work that several sequences share is one segment, so it
// counts once however many wait for it.
struct WorkView {
  struct Item {
    bool running = false;
    bool decoding = false;  // running, and one row from its next token
    // Indices into segment_rows, in the order of its path: rows that are cached but whose outputs
    // it wants, and rows that are missing.
    std::vector<uint32_t> again, segments;
    bool wants_all_outputs = false;  // and those of rows that others compute before it
    std::vector<uint32_t> cached;    // indices into cached_rows: parts that its rows attend to
    uint32_t part = 0;               // of the positions, in which its path begins
  };
  std::vector<uint32_t> segment_rows;  // rows of each segment that are to compute
  std::vector<Item> items;             // in order of arrival

  uint32_t n_starts = UINT32_MAX;  // items that do not run and may start in this step
  RankShape ranks;

  // Only filled if time is predicted.
  std::vector<uint32_t> segment_begin;  // position of each segment's first row; rises along a path
  std::vector<uint32_t> cached_rows;    // positions of each cached part of a path
  std::vector<uint32_t> cached_begin;   // if positions are divided: the first of each cached part
  uint32_t n_in_flight = 0;             // steps
};

struct Advance {
  uint32_t item;     // index into WorkView::items
  uint32_t n_again;  // rows of `again` that the step computes, for it or for others
  uint32_t n_rows;   // new rows to compute for it, beyond what earlier advances compute
};

// Decodes first, then prefill in order of arrival (FCFS), up to `budget` rows in all. A sequence
// advances for free if sequences before it take all its missing rows, or rows whose outputs it
// wants. If positions are divided, prefills of each part get an equal share of the budget first, so
// that few rows move.
std::vector<Advance> schedule_fcfs(const WorkView& view, uint32_t budget);

}  // namespace pando
