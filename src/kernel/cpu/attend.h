// Tiled attention kernels over a sixteen-lane type S.
#pragma once

namespace pando::kernel {

struct AttendTileArgs {};
struct MergeSpansArgs {};

template <class S>
struct Attend {
  static void attend_tile(const AttendTileArgs&) {}
  static void merge_spans(const MergeSpansArgs&) {}
};

}  // namespace pando::kernel
