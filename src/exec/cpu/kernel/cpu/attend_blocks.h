// Blocks of query rows, and the positions of a tile that they see.
#pragma once

#include "exec/cpu/kernel/cpu/attend_args.h"

namespace pando::kernel {

// Memory that later calls will read, fetched a few lines at a time between the products. Chunks are
// handed out in two streams, so that one tile's products cover the next tile's keys and values. A
// thread fetches 18 to 22 GB/s so, where pages lie in any order (Zen 4; the hardware's own
// prefetching reaches 26 to 33 over 64 KiB in a row).
template <class S>
struct FetchAhead {
  const std::byte* const* chunk;  // [n]
  int n;
  int chunk_bytes;
  int offset;

  // The next n_lines of memory; `otherwise` when all has been handed out.
  const std::byte* take(int n_lines, const std::byte* otherwise) {
    if (n == 0) return otherwise;
    const std::byte* at = *chunk + offset;
    offset += n_lines * 64;
    if (offset >= chunk_bytes) {
      offset = 0;
      ++chunk;
      --n;
    }
    return at;
  }

  // Fetches the next n_lines at once, of both streams.
  void fetch(int n_lines) {
    for (int stream = 0; stream < 2 && n > 0; ++stream) {
      const std::byte* at = take(n_lines, nullptr);
      for (int i = 0; i < n_lines; ++i) __builtin_prefetch(at + 64 * i, 0, 2);
    }
  }
};

template <class S>
struct QueryBlocks {
  // Joins the running maximum with a tile's, and sets the factor for the states before the tile.
  static void carry_max(const AttendTileArgs& t, int query, float tile_max) {
    const float old = t.first ? -__builtin_inff() : t.max[query];
    const float now = old > tile_max ? old : tile_max;
    t.factor[query] = old - now;
    t.max[query] = now;
  }

  // Calls block.of<R>(first query) for blocks of at most six query rows that cover all of them.
  template <class Block>
  static void for_each(int n_queries, const Block& block) {
    for (int i = 0, n_left = (n_queries + 5) / 6; n_left > 0; --n_left) {
      const int n = (n_queries - i + n_left - 1) / n_left;
      switch (n) {
        case 1:
          block.template of<1>(i);
          break;
        case 2:
          block.template of<2>(i);
          break;
        case 3:
          block.template of<3>(i);
          break;
        case 4:
          block.template of<4>(i);
          break;
        case 5:
          block.template of<5>(i);
          break;
        default:
          block.template of<6>(i);
          break;
      }
      i += n;
    }
  }

  static int smaller(int a, int b) { return a < b ? a : b; }
  static int padded(int n) { return (n + 15) / 16 * 16; }

  // Positions that a block of queries sees: together, and at least one of them.
  static int seen(const AttendTileArgs& t, int query) {
    return t.keep_masked ? t.n_pages * t.page_len : t.visible[query];
  }
  static int seen_by_all(const AttendTileArgs& t, int query, int n) {
    int least = seen(t, query);
    for (int i = 1; i < n; ++i) least = smaller(least, seen(t, query + i));
    return least;
  }
  static int seen_by_any(const AttendTileArgs& t, int query, int n) {
    int most = seen(t, query);
    for (int i = 1; i < n; ++i) most = most > seen(t, query + i) ? most : seen(t, query + i);
    return most;
  }
  // The first position that all of a block of queries see, and that any of them sees.
  static int begin_of_all(const AttendTileArgs& t, int query, int n) {
    int most = 0;
    for (int i = 0; i < n && t.from != nullptr; ++i)
      most = most > t.from[query + i] ? most : t.from[query + i];
    return most;
  }
  static int begin_of_any(const AttendTileArgs& t, int query, int n) {
    int least = t.from == nullptr ? 0 : t.from[query];
    for (int i = 1; i < n && t.from != nullptr; ++i) least = smaller(least, t.from[query + i]);
    return least;
  }
};

}  // namespace pando::kernel
