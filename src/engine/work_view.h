// Builds the scheduler's view of pending work from the paths of sequences.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mix.h"
#include "engine/sequence.h"
#include "schedule/schedule.h"

namespace pando {

class Residency;

// Tokens from the beginning of a path that `count` includes: one of the three numbers of a Node.
uint32_t path_count(const Node* tip, uint32_t Node::*count);

// Builds the view of sequences in order of arrival; rows that several of them want are one segment.
class WorkViewBuilder {
 public:
  explicit WorkViewBuilder(const Residency& residency) : residency_(residency) {}
  void reserve(size_t n);  // sequences that are to be added, at once
  void add(Sequence& sequence);
  // Adds the features that time depends on: positions and cached rows. Once for each sequence,
  // after `add`.
  void add_times(const Sequence& sequence);
  void set_starts(uint32_t n) { view_.n_starts = n; }
  // Before any `add`.
  void set_ranks(const RankShape& ranks, size_t n_in_flight) {
    view_.ranks = ranks;
    view_.n_in_flight = static_cast<uint32_t>(n_in_flight);
  }
  // True if its next rows are already added by others: it reads their outputs for free.
  bool goes_along(const Sequence& sequence) const;

  uint64_t n_rows() const { return n_rows_; }
  const WorkView& view() const { return view_; }
  Sequence& sequence(uint32_t item) const { return *sequences_[item]; }

 private:
  using Key = std::pair<const Node*, uint32_t>;  // offset of the first row in its node
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return mix64(reinterpret_cast<uintptr_t>(key.first) ^ (uint64_t{key.second} << 32));
    }
  };

  uint32_t segment(Key key, uint32_t n_rows);
  uint32_t add_segment(uint32_t begin, uint32_t n_rows);
  std::vector<uint32_t> cached_segments(const Node* node, uint32_t first);

  const Residency& residency_;
  WorkView view_;
  std::vector<Sequence*> sequences_;
  std::unordered_map<Key, uint32_t, KeyHash> segment_of_;  // of missing rows
  // Cached rows that are to be computed again: the segments of a node by the offset of their first
  // row. The last one ends where the cached rows do, and each other one where the next begins.
  std::unordered_map<const Node*, std::map<uint32_t, uint32_t>> cached_segments_of_;
  std::unordered_map<const Node*, uint32_t> cached_of_;  // indices into cached_rows
  uint64_t n_rows_ = 0;
};

}  // namespace pando
