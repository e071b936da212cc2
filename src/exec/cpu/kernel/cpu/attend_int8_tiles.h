// Products of attention over int8 keys and values by AMX, for many query rows; the rest is
// attend_int8.h's. Pages and work space lie as there, so that a tile register is loaded from them
// as it is: sixteen rows of queries or shares, sixteen positions or channels of keys or values.
#pragma once

#include "exec/cpu/kernel/cpu/amx_tiles.h"
#include "exec/cpu/kernel/cpu/attend_args.h"
#include "exec/cpu/kernel/cpu/attend_blocks.h"

namespace pando::kernel {

// S: sixteen f32 lanes of AVX-512.
template <class S>
struct Int8Tiles {
  using F = typename S::F;

  static bool takes(const AttendTileArgs& t) {
    return t.n_queries >= 8 && t.tile_len == kLen && t.page_len % kStripLen == 0 &&
           t.head_dim % kLen == 0;
  }

  explicit Int8Tiles(const AttendTileArgs& args)
      : t(args),
        n_blocks((args.n_queries + kTileRegisterRows - 1) / kTileRegisterRows),
        n_rows((args.n_queries + n_blocks - 1) / n_blocks),
        shapes(n_rows, kTileRowBytes, args.page_len) {}

  // scores[i][j] = sum over d of q[i][d] * k[j][d], int32.
  void score(FetchAhead<S>& ahead) const {
    alignas(64) int32_t bias[kTileRegisterRows][kStripLen];
    const int n_lines = lines_each(ahead);
    for (int query = 0; query < t.n_queries; query += n_rows) {
      const int first = first_row(query);
      for (int r = 0; r < n_rows; ++r)
        S::store_dots(bias[r], S::first_dot(t.q_rows[first + r].bias));
      const int8_t* q = t.q_int8 + int64_t{first} * t.head_dim;
      float* scores = t.scores + int64_t{first} * kLen;
      for (int page = 0; page < t.n_pages; ++page) {
        ahead.fetch(n_lines);
        for (int j = 0; j < t.page_len; j += kStripLen, scores += kStripLen) {
          const std::byte* k = t.keys[page] + 4 * j;
          tile_load<0>(bias, kTileRowBytes);
          for (int d = 0; d < t.head_dim; d += kLen, k += kLen * t.page_len) {
            tile_load<4>(q + d, t.head_dim);
            tile_load<5>(k, 4 * t.page_len);
            tile_dot_unsigned<0, 4, 5>();
          }
          tile_store<0>(scores, 4 * kLen);
        }
      }
    }
  }

  // acc[i][d] = fma(float(sum of shares[i][j] * v[j][d]), share_scale[i], acc[i][d] * factor[i]).
  void weigh(FetchAhead<S>& ahead) const {
    alignas(64) int32_t sums[kTileRegisterRows][kLen];
    const int n_lines = lines_each(ahead);
    for (int query = 0; query < t.n_queries; query += n_rows) {
      const int first = first_row(query);
      for (int d = 0; d < t.head_dim; d += kLen) {
        tile_zero<0>();
        tile_zero<1>();
        tile_zero<2>();
        tile_zero<3>();
        for (int page = 0; page < t.n_pages; ++page) {
          ahead.fetch(n_lines);
          tile_load<6>(t.shares + int64_t{first} * kLen + page * t.page_len, kLen);
          const std::byte* v = t.values[page] + 4 * d;
          add_products<0>(v);
          add_products<1>(v + kStripQuad);
          add_products<2>(v + 2 * kStripQuad);
          add_products<3>(v + 3 * kStripQuad);
        }
        tile_store<0>(sums[0], 4 * kLen);
        tile_store<1>(sums[0] + kStripLen, 4 * kLen);
        tile_store<2>(sums[0] + 2 * kStripLen, 4 * kLen);
        tile_store<3>(sums[0] + 3 * kStripLen, 4 * kLen);
        for (int row = query; row < first + n_rows; ++row) add_sums(row, d, sums[row - first]);
      }
    }
  }

 private:
  static constexpr int kLen = 64;  // positions of a tile, and channels at a time

  // Cache lines to fetch ahead in each call, so that the next pages are spread over all calls.
  int lines_each(const FetchAhead<S>& ahead) const {
    const int n_calls = 2 * n_blocks * t.n_pages * (1 + t.head_dim / kLen);
    return (t.n_ahead * ahead.chunk_bytes / 64 + n_calls - 1) / n_calls;
  }

  // The last block begins early enough to be whole: rows that it shares with the one before, fewer
  // than there are blocks, come out the same.
  int first_row(int query) const {
    return query + n_rows <= t.n_queries ? query : t.n_queries - n_rows;
  }

  template <int kSums>
  [[gnu::always_inline]] void add_products(const std::byte* v) const {
    tile_load<7>(v, 4 * t.head_dim);
    tile_dot_shares<kSums, 6, 7>();
  }

  void add_sums(int row, int channel, const int32_t (&sums)[kLen]) const {
    const F scale = S::set1(t.share_scale[row]), factor = S::set1(t.factor[row]);
    float* const acc = t.acc + int64_t{row} * t.head_dim + channel;
#pragma GCC unroll 4
    for (int i = 0; i < kLen; i += kStripLen) {
      const F before = t.first ? S::zero() : S::mul(S::load(acc + i), factor);
      S::store(acc + i, S::fma(S::to_float(S::load_dots(sums + i)), scale, before));
    }
  }

  const AttendTileArgs& t;
  const int n_blocks;  // the fewest that hold all queries
  const int n_rows;    // of each
  const TileShapes shapes;
};

}  // namespace pando::kernel
