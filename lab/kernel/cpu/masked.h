// Attention under a dense mask, for the published techniques that use one: every query row meets
// every cell of a tile, and the mask takes out afterwards what it must not see. The same
// inner products as the engine's own attention (attend_product.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "exec/cpu/kernel/cpu/attend_args.h"
#include "exec/cpu/kernel/cpu/attend_product.h"
#include "exec/cpu/kernel/cpu/row_ops.h"

namespace pando::kernel {

// A tile of cells of one KV head against query rows. Padded: rounded up to sixteen.
struct MaskedTileArgs {
  DType type;  // of keys and values: f32, f16 or bf16
  int head_dim;
  int page_len;
  int tile_len;
  int n_cells;                     // of the tile, all of them written
  const std::byte* const* keys;    // [pages of the tile] chunks [head_dim, page_len]
  const std::byte* const* values;  // [pages of the tile] chunks [page_len, head_dim]
  int n_queries;
  int group;   // neighbouring queries that have one row of the mask
  bool first;  // max, sum and acc are written, not updated
  const float*
      mask;        // [n_queries / group, padded tile_len] f32: 0, or -infinity for what is unseen
  const float* q;  // [n_queries, padded head_dim] f32, scaled
  float* max;      // [n_queries] f32, base 2; -infinity where nothing was seen yet
  float* sum;      // [n_queries, 16] f32
  float* acc;      // [n_queries, padded head_dim] f32
  float* scores;   // [n_queries, padded tile_len] f32 work space
  float* factor;   // [n_queries] f32 work space
  float* widened;  // [kStripChannels, padded tile_len] f32 work space
};

template <class S>
struct MaskedAttend {
  using F = typename S::F;
  using Product = TileProduct<S>;
  using Ahead = typename Product::Ahead;
  using Operands = typename Product::template Operands<typename Product::F32>;

  static void attend_masked(const MaskedTileArgs& t) {
    for (int channel = 0; channel < t.head_dim; channel += kStripChannels) {
      const int n = smaller(kStripChannels, t.head_dim - channel);
      widen_keys(t, channel, n);
      score(t, channel, n);
    }
    softmax(t);
    for (int channel = 0; channel < t.head_dim; channel += kStripChannels) {
      const int n = smaller(kStripChannels, t.head_dim - channel);
      widen_values(t, channel, n);
      weigh(t, channel, n);
    }
  }

 private:
  static int padded(int n) { return (n + 15) / 16 * 16; }
  static int smaller(int a, int b) { return a < b ? a : b; }

  // To [n channels, padded tile_len].
  static void widen_keys(const MaskedTileArgs& t, int channel, int n) {
    const size_t element = kv_element_bytes(t.type);
    for (int i = 0; i * t.page_len < t.n_cells; ++i)
      for (int c = 0; c < n; ++c)
        RowOps<S>::widen(t.type, t.keys[i] + (channel + c) * t.page_len * element, t.page_len,
                         t.widened + c * padded(t.tile_len) + i * t.page_len);
  }

  // To [n_cells, kStripChannels].
  static void widen_values(const MaskedTileArgs& t, int channel, int n) {
    const size_t element = kv_element_bytes(t.type);
    for (int j = 0; j < t.n_cells; ++j) {
      const std::byte* page = t.values[j / t.page_len];
      RowOps<S>::widen(t.type, page + ((j % t.page_len) * t.head_dim + channel) * element, n,
                       t.widened + j * kStripChannels);
    }
  }

  // c[r][x] = start, then + a[r][k] * b[k][x] for k ascending; n_vectors of sixteen columns.
  template <int R>
  static void product(Operands o, const float* b, int n_vectors) {
    Ahead none{nullptr, 0, 1, 0};
    float* const c = o.c;
    for (int vector = 0; vector < n_vectors;) {
      const int width = Product::template width<R>(n_vectors - vector);
      for (int v = 0; v < width; ++v) o.b[v] = b + 16 * (vector + v);
      o.c = c + 16 * vector;
      Product::template strip<typename Product::F32, R>(width, o, none);
      vector += width;
    }
  }

  // All rows of a, six at a time.
  static void product(Operands o, const float* b, int n_vectors, int n_queries) {
    const float *const a = o.a, *const factor = o.factor;
    float* const c = o.c;
    int i = 0;
    const auto at = [&](int query) {
      o.a = a + query * o.a_stride;
      o.c = c + query * o.c_stride;
      o.factor = factor + query;
    };
    for (; i + 6 <= n_queries; i += 6) at(i), product<6>(o, b, n_vectors);
    if (i + 3 <= n_queries) at(i), product<3>(o, b, n_vectors), i += 3;
    for (; i < n_queries; ++i) at(i), product<1>(o, b, n_vectors);
  }

  static void score(const MaskedTileArgs& t, int channel, int n) {
    Operands o{};
    o.a = t.q + channel;
    o.a_stride = padded(t.head_dim);
    o.b_stride = padded(t.tile_len);
    o.c = t.scores;
    o.c_stride = padded(t.tile_len);
    o.factor = t.factor;
    o.n_k = n;
    o.start = channel == 0 ? Product::Start::kZero : Product::Start::kKeep;
    product(o, t.widened, (t.n_cells + 15) / 16, t.n_queries);
  }

  // Scores become weights. A row that has seen nothing yet keeps a maximum of -infinity.
  static void softmax(const MaskedTileArgs& t) {
    const F lowest = S::set1(-__builtin_inff());
    for (int i = 0; i < t.n_queries; ++i) {
      float* const s = t.scores + i * padded(t.tile_len);
      const float* const mask = t.mask + i / t.group * padded(t.tile_len);
      F top = lowest;
      for (int j = 0; j < t.n_cells; j += 16) {
        const F score =
            S::select_first(t.n_cells - j, S::add(S::load(s + j), S::load(mask + j)), lowest);
        S::store(s + j, score);
        top = S::max(top, score);
      }
      const float old = t.first ? -__builtin_inff() : t.max[i];
      const float tile_max = S::reduce_max(top), now = old > tile_max ? old : tile_max;
      const bool nothing = now == -__builtin_inff();
      const F max = S::set1(nothing ? 0 : now);
      const F factor = Exp2<S>::of(S::set1(nothing ? 0 : old - now));
      F sum = t.first ? S::zero() : S::mul(S::load(t.sum + 16 * i), factor);
      for (int j = 0; j < t.n_cells; j += 16) {
        const F w = Exp2<S>::of(S::sub(S::load(s + j), max));
        S::store(s + j, w);
        sum = S::add(sum, w);
      }
      S::store(t.sum + 16 * i, sum);
      S::store_first(t.factor + i, factor, 1);
      t.max[i] = now;
    }
  }

  static void weigh(const MaskedTileArgs& t, int channel, int n) {
    Operands o{};
    o.a = t.scores;
    o.a_stride = padded(t.tile_len);
    o.b_stride = kStripChannels;
    o.c = t.acc + channel;
    o.c_stride = padded(t.head_dim);
    o.factor = t.factor;
    o.n_k = t.n_cells;
    o.start = t.first ? Product::Start::kZero : Product::Start::kScale;
    product(o, t.widened, (n + 15) / 16, t.n_queries);
  }
};

}  // namespace pando::kernel
