// Attention over int8 keys and values, over a sixteen-lane type S. Formula: docs/arithmetic.md,
// "Attention over int8 keys and values"; reference function: tests/kernel/attention_reference.h.
// All sums of products are exact integers, so no order of them and no masking by zero changes a
// bit.
#pragma once

#include "exec/cpu/kernel/cpu/attend_args.h"
#include "exec/cpu/kernel/cpu/attend_blocks.h"
#include "exec/cpu/kernel/cpu/row_ops.h"

namespace pando::kernel {

template <class S>
struct Int8Tiles;  // attend_int8_tiles.h

template <class S>
struct AttendInt8 {
  using F = typename S::F;
  using I = typename S::I;
  using Blocks = QueryBlocks<S>;

  static void attend_tile(const AttendTileArgs& t) {
    Tile tile(t);
    if constexpr (S::kTiles) {
      if (Int8Tiles<S>::takes(t)) {
        const Int8Tiles<S> tiles(t);
        tiles.score(tile.ahead);
        softmax(tile);
        tiles.weigh(tile.ahead);
        return;
      }
    }
    score(tile);
    softmax(tile);
    weigh(tile);
  }

 private:
  static int padded(int n) { return Blocks::padded(n); }

  using Ahead = FetchAhead<S>;

  // The tile's keys and values as products read them: pages as they lie, or, where a page is not
  // whole vectors of positions, all of them gathered into one.
  struct Tile {
    const AttendTileArgs& t;
    const std::byte* const* keys;    // [n_pages] of [head_dim / 4, page_len, 4] u8
    const std::byte* const* values;  // [n_pages] of [page_len / 4, dim, 4] s8
    int page_len;
    int dim;              // padded head_dim
    float* key_scales;    // [padded tile_len]
    float* value_scales;  // [padded tile_len]
    Ahead ahead;
    const std::byte* gathered[2];

    explicit Tile(const AttendTileArgs& args)
        : t(args),
          keys(args.keys),
          values(args.values),
          page_len(args.page_len),
          dim(padded(args.head_dim)),
          key_scales(reinterpret_cast<float*>(args.gathered)),
          value_scales(key_scales + padded(args.tile_len)),
          ahead{args.ahead, args.n_ahead, int8_element_bytes(args.page_len, args.head_dim), 0} {
      const int at = ahead.chunk_bytes;
      for (int i = 0; i < t.n_pages; ++i) {
        const int n = 4 * t.page_len;  // bytes of scales
        __builtin_memcpy(key_scales + i * t.page_len, t.keys[i] + at, n);
        __builtin_memcpy(value_scales + i * t.page_len, t.values[i] + at, n);
      }
      for (int i = 0; i < t.n_ahead; ++i)
        for (int line = 0; line < 4 * t.page_len; line += 64)
          __builtin_prefetch(t.ahead[i] + at + line, 0, 2);
      if (t.page_len % 16 != 0)
        gather(reinterpret_cast<std::byte*>(value_scales + padded(t.tile_len)));
    }

    void gather(std::byte* to) {
      std::byte* const to_values = to + static_cast<int64_t>(t.head_dim) * padded(t.tile_len);
      for (int i = 0; i < t.n_pages; ++i)
        for (int j = 0, position = i * t.page_len; j < t.page_len; ++j, ++position) {
          for (int d = 0; d < t.head_dim; d += 4)
            __builtin_memcpy(to + static_cast<int64_t>(d) * padded(t.tile_len) + 4 * position,
                             t.keys[i] + d * t.page_len + 4 * j, 4);
          for (int d = 0; d < t.head_dim; ++d)
            to_values[(position / 4 * dim + d) * 4 + position % 4] =
                t.values[i][(j / 4 * dim + d) * 4 + j % 4];
        }
      gathered[0] = to;
      gathered[1] = to_values;
      keys = &gathered[0];
      values = &gathered[1];
      page_len = padded(t.tile_len);
    }
  };

  // Vectors of sixteen columns that keep all sums in registers; changes speed, never bits.
  template <int R>
  static constexpr int max_vectors() {
    return S::kRegisters >= 32 ? 4 : R == 1 ? 4 : R == 2 ? 2 : 1;
  }
  // Calls f.at<V>(first vector) for strips that cover vectors [begin, end).
  template <int R, class Strip>
  static void for_strips(int begin, int end, const Strip& f) {
    while (begin < end) {
      const int n = end - begin;
      if (max_vectors<R>() >= 4 && n >= 4) {
        f.template at<max_vectors<R>()>(begin);
        begin += 4;
      } else if (max_vectors<R>() >= 2 && n >= 2) {
        f.template at<max_vectors<R>() >= 2 ? 2 : 1>(begin);
        begin += 2;
      } else {
        f.template at<1>(begin);
        ++begin;
      }
    }
  }

  // scores[i][j] = sum over d of q[i][d] * k[j][d], int32.
  template <int R>
  struct ScoreStrip {
    Tile& tile;
    int query;

    template <int V>
    void at(int vector) const {
      const AttendTileArgs& t = tile.t;
      const int8_t* q = t.q_int8 + static_cast<int64_t>(query) * tile.dim;
      const int64_t q_stride = tile.dim, step = 4 * tile.page_len;
      const int n_quads = t.head_dim / 4;
      const uint8_t* k[V];
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        const int position = 16 * (vector + v);
        k[v] = reinterpret_cast<const uint8_t*>(tile.keys[position / tile.page_len]) +
               4 * (position % tile.page_len);
      }
      I sum[R][V];
#pragma GCC unroll 6
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) sum[r][v] = S::first_dot(t.q_rows[query + r].bias);
      const std::byte* next = tile.ahead.take(2 * n_quads, tile.keys[0]);
      const std::byte* far = tile.ahead.take(2 * n_quads, tile.keys[0]);
      const int8_t* const q_high = R > 3 ? q + 3 * q_stride : q;
      int64_t offset = 0;
      for (int64_t i = 0; i < n_quads; ++i, offset += step) {
        prefetch_two(next + 128 * i, far + 128 * i);
        typename S::Weights column[V];
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) column[v] = S::load_weights(k[v] + offset);
#pragma GCC unroll 6
        for (int r = 0; r < R; ++r) {
          const typename S::Quad x =
              S::load_quad((r < 3 ? q + r * q_stride : q_high + (r - 3) * q_stride) + 4 * i);
#pragma GCC unroll 4
          for (int v = 0; v < V; ++v) sum[r][v] = S::dot(sum[r][v], column[v], x);
        }
      }
      const int64_t stride = padded(t.tile_len);
      float* const out = t.scores + query * stride + 16 * vector;
#pragma GCC unroll 6
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) S::store_sums(out + r * stride + 16 * v, sum[r][v]);
    }
  };
  struct ScoreBlock {
    Tile& tile;
    template <int R>
    void of(int query) const {
      for_strips<R>(Blocks::begin_of_any(tile.t, query, R) / 16,
                    padded(Blocks::seen_by_any(tile.t, query, R)) / 16, ScoreStrip<R>{tile, query});
    }
  };
  static void score(Tile& tile) { Blocks::for_each(tile.t.n_queries, ScoreBlock{tile}); }

  static void prefetch_two(const std::byte* a, const std::byte* b) {
    __builtin_prefetch(a, 0, 2);
    __builtin_prefetch(b, 0, 2);
    __builtin_prefetch(a + 64, 0, 2);
    __builtin_prefetch(b + 64, 0, 2);
  }

  static void softmax(const Tile& tile) {
    if (tile.t.from == nullptr) {
      softmax<false>(tile);
    } else {
      softmax<true>(tile);
    }
  }

  // Turns scores into shares, u8, of the weights times the values' scales, and sets max, sum,
  // factor (of sum and acc) and share_scale of each query. Works in passes over the queries, so
  // that the maxima of neighbouring queries overlap.
  template <bool kWindow>
  static void softmax(const Tile& tile) {
    const AttendTileArgs& t = tile.t;
    for (int i = 0; i < t.n_queries; ++i) {
      if (t.visible[i] == 64 && t.tile_len == 64 && !kWindow) {
        find_max<4, false>(tile, i);
      } else {
        find_max<0, kWindow>(tile, i);
      }
    }
    Exp2<S>::of_all(t.factor, t.n_queries);
    for (int i = 0; i < t.n_queries; ++i) {
      if (t.visible[i] == 64 && t.tile_len == 64 && !kWindow) {
        find_weights<4, false>(tile, i);
      } else {
        find_weights<0, kWindow>(tile, i);
      }
    }
    const F most = S::set1(255.0f), least = S::set1(0x1p-100f);  // 255 / amax must be finite
    for (int i = 0; i < t.n_queries; i += 16) {
      const int n = t.n_queries - i;
      const F amax = S::load_first(t.share_scale + i, n);
      const F scale = S::select_less(amax, least, S::zero(), S::div(amax, most));
      S::store_first(t.share_scale + i, scale, n);
      S::store_first(t.to_share + i, S::select_less(amax, least, S::zero(), S::div(most, amax)), n);
    }
    for (int i = 0; i < t.n_queries; ++i) {
      float* const s = t.scores + i * padded(t.tile_len);
      uint8_t* const shares = t.shares + i * padded(t.tile_len);
      const int begin = begin_of<kWindow>(t, i), end = padded(t.visible[i]);
      const F to_share = S::set1(t.to_share[i]);
      for (int j = 0; j < begin; j += 16) S::store_u8(shares + j, S::zero());
      for (int j = begin; j < end; j += 16)
        S::store_u8(shares + j, S::min(S::mul(S::load(s + j), to_share), most));
      for (int j = end; j < padded(t.tile_len); j += 16) S::store_u8(shares + j, S::zero());
    }
  }
  template <bool kWindow>
  static int begin_of(const AttendTileArgs& t, int query) {
    return kWindow ? t.from[query] / 16 * 16 : 0;
  }

  // Scores in f32, -infinity where not visible; the new maximum; the logarithm of the factor.
  // kVectors: all of the tile is visible; 0: any part.
  template <int kVectors, bool kWindow>
  static void find_max(const Tile& tile, int i) {
    const AttendTileArgs& t = tile.t;
    const F lowest = S::set1(-__builtin_inff());
    float* const s = t.scores + i * padded(t.tile_len);
    const int n = kVectors > 0 ? 16 * kVectors : t.visible[i];
    const F q_scale = S::set1(t.q_rows[i].scale);
    F top = lowest;
#pragma GCC unroll 4
    for (int j = begin_of<kWindow>(t, i); j < n; j += 16) {
      const F scale = S::mul(q_scale, S::load(tile.key_scales + j));
      F score = S::mul(S::to_float(S::load_sums(s + j)), scale);
      if (t.cap > 0.0f) score = RowOps<S>::capped(score, S::set1(t.cap));
      if constexpr (kVectors == 0) score = S::select_first(n - j, score, lowest);
      if constexpr (kWindow) score = S::select_first(t.from[i] - j, lowest, score);
      S::store(s + j, score);
      top = S::max(top, score);
    }
    Blocks::carry_max(t, i, S::reduce_max(top));
  }

  // Weights times the values' scales; their maximum; the sum of the weights.
  template <int kVectors, bool kWindow>
  static void find_weights(const Tile& tile, int i) {
    const AttendTileArgs& t = tile.t;
    float* const s = t.scores + i * padded(t.tile_len);
    const int n = kVectors > 0 ? 16 * kVectors : t.visible[i];
    const F max = S::set1(t.max[i]);
    F sum = t.first ? S::zero() : S::mul(S::load(t.sum + 16 * i), S::set1(t.factor[i]));
    F most = S::zero();
#pragma GCC unroll 4
    for (int j = begin_of<kWindow>(t, i); j < n; j += 16) {
      // 0 if the score is -infinity
      const F w = Exp2<S>::of_at_most_127(S::sub(S::load(s + j), max));
      sum = S::add(sum, w);
      F share = S::mul(w, S::load(tile.value_scales + j));
      if constexpr (kVectors == 0) share = S::select_first(n - j, share, S::zero());
      if constexpr (kWindow) share = S::select_first(t.from[i] - j, S::zero(), share);
      S::store(s + j, share);
      most = S::max(most, share);
    }
    S::store(t.sum + 16 * i, sum);
    t.share_scale[i] = S::reduce_max(most);
  }

  // acc[i][d] = fma(float(sum of shares[i][j] * v[j][d]), share_scale[i], acc[i][d] * factor[i]).
  template <int R>
  struct WeighStrip {
    Tile& tile;
    int query;
    int begin, end;  // quads of positions

    template <int V>
    void at(int vector) const {
      const AttendTileArgs& t = tile.t;
      I sum[R][V];
#pragma GCC unroll 6
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) sum[r][v] = S::first_dot(0);
      const int64_t stride = padded(t.tile_len), step = 4 * tile.dim;
      const uint8_t* const p = t.shares + query * stride;
      const uint8_t* const p_high = R > 3 ? p + 3 * stride : p;
      const int page_quads = tile.page_len / 4;
      for (int quad = begin; quad < end;) {
        const int page = quad / page_quads, first = quad % page_quads;
        const int stop = Blocks::smaller(end, (page + 1) * page_quads);
        const int8_t* row =
            reinterpret_cast<const int8_t*>(tile.values[page]) + first * step + 4 * 16 * vector;
        const std::byte* next = tile.ahead.take(2 * (stop - quad), tile.values[page]);
        const std::byte* far = tile.ahead.take(2 * (stop - quad), tile.values[page]);
        for (; quad < stop; ++quad, row += step, next += 128, far += 128) {
          prefetch_two(next, far);
          typename S::Values column[V];
#pragma GCC unroll 4
          for (int v = 0; v < V; ++v) column[v] = S::load_values(row + 64 * v);
#pragma GCC unroll 6
          for (int r = 0; r < R; ++r) {
            const typename S::Shares x =
                S::load_shares((r < 3 ? p + r * stride : p_high + (r - 3) * stride) + 4 * quad);
#pragma GCC unroll 4
            for (int v = 0; v < V; ++v) sum[r][v] = S::dot_shares(sum[r][v], column[v], x);
          }
        }
      }
      float* const acc = t.acc + static_cast<int64_t>(query) * tile.dim + 16 * vector;
#pragma GCC unroll 6
      for (int r = 0; r < R; ++r) {
        const F scale = S::set1(t.share_scale[query + r]), factor = S::set1(t.factor[query + r]);
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) {
          float* const at = acc + r * tile.dim + 16 * v;
          const F before = t.first ? S::zero() : S::mul(S::load(at), factor);
          S::store(at, S::fma(S::to_float(sum[r][v]), scale, before));
        }
      }
    }
  };
  struct WeighBlock {
    Tile& tile;
    template <int R>
    void of(int query) const {
      const int begin = Blocks::begin_of_any(tile.t, query, R) / 16 * 4;
      const int end = (Blocks::seen_by_any(tile.t, query, R) + 3) / 4;
      for_strips<R>(0, tile.dim / 16, WeighStrip<R>{tile, query, begin, end});
    }
  };
  static void weigh(Tile& tile) { Blocks::for_each(tile.t.n_queries, WeighBlock{tile}); }
};

}  // namespace pando::kernel
