// Tiled attention over a sixteen-lane type S. Formula: docs/arithmetic.md, "Attention"; reference
// function: tests/kernel/attention_reference.h. Every function is a member of a template over S, so
// that no code compiled for one instruction set can be linked into another's table.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "exec/cpu/kernel/cpu/attend_args.h"
#include "exec/cpu/kernel/cpu/attend_blocks.h"
#include "exec/cpu/kernel/cpu/attend_int8.h"
#include "exec/cpu/kernel/cpu/attend_product.h"
#include "exec/cpu/kernel/cpu/row_ops.h"

namespace pando::kernel {

template <class S>
struct Attend {
  using F = typename S::F;
  using Product = TileProduct<S>;
  using Blocks = QueryBlocks<S>;
  using Ahead = typename Product::Ahead;
  using Start = typename Product::Start;

  static void attend_tile(const AttendTileArgs& t) {
    switch (t.type) {
      case DType::kF32:
        return run<typename Product::F32>(t);
      case DType::kF16:
        return run<typename Product::F16>(t);
      case DType::kBF16:
        return run<typename Product::BF16>(t);
      case DType::kI8:
        return AttendInt8<S>::attend_tile(t);
      default:
        return;  // no pages have these
    }
  }

  static void merge_spans(const MergeSpansArgs& m) {
    const float max = *m.max_a > *m.max_b ? *m.max_a : *m.max_b;
    const F x = Exp2<S>::of(S::set1(*m.max_a - max)), y = Exp2<S>::of(S::set1(*m.max_b - max));
    const F sum = S::fma(S::set1(*m.sum_a), x, S::mul(S::set1(*m.sum_b), y));
    S::store_first(m.sum_a, sum, 1);
    *m.max_a = max;
    for (int i = 0; i < m.head_dim; i += 16)
      S::store(m.acc_a + i, S::fma(S::load(m.acc_a + i), x, S::mul(S::load(m.acc_b + i), y)));
  }

  static float sink_factor(float max, float sum, float sink) {
    const float most = max > sink ? max : sink;
    const F x = Exp2<S>::of(S::set1(max - most)), y = Exp2<S>::of(S::set1(sink - most));
    float factor = 0.0f;
    S::store_first(&factor, S::div(x, S::fma(S::set1(sum), x, y)), 1);
    return factor;
  }

 private:
  // Keys or values as products read them: chunks of `len` positions whose rows are `stride` apart,
  // and where the channels at hand begin in them.
  template <class T>
  struct View {
    const std::byte* const* chunk;
    int len;
    int stride;
    int channel;
    const typename T::Element* at(int i) const {
      return reinterpret_cast<const typename T::Element*>(chunk[i]);
    }
  };

  static int padded(int n) { return Blocks::padded(n); }
  static int smaller(int a, int b) { return Blocks::smaller(a, b); }

  template <class T>
  static void run(const AttendTileArgs& t) {
    using Element = typename T::Element;
    using W = typename Product::F32;
    Ahead ahead{t.ahead, t.n_ahead, t.page_len * t.head_dim * static_cast<int>(sizeof(Element)), 0};
    const bool whole_vectors = t.page_len % 16 == 0 && t.head_dim % 16 == 0;
    const bool in_place = whole_vectors && (sizeof(Element) == 4 || !t.widen_once);
    const std::byte* const widened = reinterpret_cast<const std::byte*>(t.widened);
    const int n_keys = padded(t.tile_len);
    if (in_place) score<T>(t, View<T>{t.keys, t.page_len, t.page_len, 0}, 0, t.head_dim, ahead);
    for (int channel = 0; channel < t.head_dim && !in_place; channel += kStripChannels) {
      const int n = smaller(kStripChannels, t.head_dim - channel);
      widen_keys<T>(t, channel, n);
      score<W>(t, View<W>{&widened, n_keys, n_keys, 0}, channel, n, ahead);
    }
    if (t.cap > 0.0f) cap_scores(t);
    softmax(t);
    for (int channel = 0; channel < t.head_dim; channel += kStripChannels) {
      const int n = smaller(kStripChannels, t.head_dim - channel);
      if (in_place) {
        weigh<T>(t, View<T>{t.values, t.page_len, t.head_dim, channel}, channel, n, ahead);
      } else {
        widen_values<T>(t, channel, n);
        weigh<W>(t, View<W>{&widened, t.tile_len, kStripChannels, 0}, channel, n, ahead);
      }
    }
  }

  // n channels from `channel` on to f32: keys to [n, padded tile_len], values to
  // [tile_len, kStripChannels].
  template <class T>
  static void widen_keys(const AttendTileArgs& t, int channel, int n) {
    for (int i = 0; i < t.n_pages; ++i) {
      const auto* from = reinterpret_cast<const typename T::Element*>(t.keys[i]);
      widen<T>(t.type, from + channel * t.page_len, t.page_len, n, t.page_len,
               t.widened + i * t.page_len, padded(t.tile_len));
    }
  }
  template <class T>
  static void widen_values(const AttendTileArgs& t, int channel, int n) {
    for (int i = 0; i < t.n_pages; ++i) {
      const auto* from = reinterpret_cast<const typename T::Element*>(t.values[i]);
      widen<T>(t.type, from + channel, t.head_dim, t.page_len, n,
               t.widened + i * t.page_len * kStripChannels, kStripChannels);
    }
  }

  // [n_rows, n_columns] of a page to f32.
  template <class T>
  static void widen(DType type, const typename T::Element* from, int64_t from_stride, int n_rows,
                    int n_columns, float* to, int64_t to_stride) {
    for (int i = 0; i < n_rows; ++i, from += from_stride, to += to_stride) {
      if (n_columns % 16 != 0) {
        RowOps<S>::widen(type, from, n_columns, to);
      } else {
        for (int j = 0; j < n_columns; j += 16) S::store(to + j, T::load(from + j));
      }
    }
  }

  // scores[i][j] += sum over channels [channel, channel + n) of q[i][d] * k[j][d].
  template <class T>
  struct ScoreBlock {
    const AttendTileArgs& t;
    const View<T>& keys;
    int channel, n;
    Ahead& ahead;

    template <int R>
    void of(int query) const {
      const int n_vectors = (Blocks::seen_by_any(t, query, R) + 15) / 16;
      typename Product::template Operands<T> o;
      o.a_stride = padded(t.head_dim);
      o.a = t.q + query * o.a_stride + channel;
      o.b_stride = keys.stride;
      o.c_stride = padded(t.tile_len);
      o.n_k = n;
      o.start = channel == 0 ? Start::kZero : Start::kKeep;
      for (int vector = Blocks::begin_of_any(t, query, R) / 16; vector < n_vectors;) {
        const int width = Product::template width<R>(n_vectors - vector);
        for (int v = 0; v < width; ++v) {
          const int position = 16 * (vector + v);
          o.b[v] = keys.at(position / keys.len) + keys.channel * keys.stride + position % keys.len;
        }
        o.c = t.scores + query * o.c_stride + 16 * vector;
        Product::template strip<T, R>(width, o, ahead);
        vector += width;
      }
    }
  };
  template <class T>
  static void score(const AttendTileArgs& t, const View<T>& keys, int channel, int n,
                    Ahead& ahead) {
    Blocks::for_each(t.n_queries, ScoreBlock<T>{t, keys, channel, n, ahead});
  }

  static void cap_scores(const AttendTileArgs& t) {
    for (int i = 0; i < t.n_queries; ++i) {
      const int begin = t.from == nullptr ? 0 : t.from[i];
      RowOps<S>::soft_cap(t.scores + i * padded(t.tile_len) + begin, t.cap, t.visible[i] - begin);
    }
  }

  // Scores become weights; max, sum and factor (of sum and acc) of each query follow. In passes
  // over the queries, so that the chains of one query's maximum overlap with the next one's.
  static void softmax(const AttendTileArgs& t) {
    if (t.from == nullptr) {
      softmax_of<false>(t);
    } else {
      softmax_of<true>(t);
    }
  }
  template <bool kWindow>
  static void softmax_of(const AttendTileArgs& t) {
    const auto whole = [&](int i) { return !kWindow && t.tile_len == 64 && t.visible[i] == 64; };
    for (int i = 0; i < t.n_queries; ++i)
      whole(i) ? find_max<true, false>(t, i) : find_max<false, kWindow>(t, i);
    Exp2<S>::of_all(t.factor, t.n_queries);
    for (int i = 0; i < t.n_queries; ++i)
      whole(i) ? find_weights<true, false>(t, i) : find_weights<false, kWindow>(t, i);
  }
  template <bool kWindow>
  static int begin_of(const AttendTileArgs& t, int query) {
    return kWindow ? t.from[query] / 16 * 16 : 0;
  }

  // The new maximum, and the logarithm of the factor. kWhole: all 64 positions are visible.
  template <bool kWhole, bool kWindow>
  static void find_max(const AttendTileArgs& t, int i) {
    const F lowest = S::set1(-__builtin_inff());
    const float* const s = t.scores + i * padded(t.tile_len);
    const int n = kWhole ? 64 : t.visible[i];
    F top = lowest;
#pragma GCC unroll 4
    for (int j = begin_of<kWindow>(t, i); j < n; j += 16) {
      F score = S::load(s + j);
      if constexpr (!kWhole) score = S::select_first(n - j, score, lowest);
      if constexpr (kWindow) score = S::select_first(t.from[i] - j, lowest, score);
      top = S::max(top, score);
    }
    Blocks::carry_max(t, i, S::reduce_max(top));
  }

  template <bool kWhole, bool kWindow>
  static void find_weights(const AttendTileArgs& t, int i) {
    float* const s = t.scores + i * padded(t.tile_len);
    const int n = kWhole ? 64 : t.visible[i];
    const int n_touched = kWhole ? 64 : Blocks::seen(t, i);
    const F max = S::set1(t.max[i]);
    F sum = t.first ? S::zero() : S::mul(S::load(t.sum + 16 * i), S::set1(t.factor[i]));
#pragma GCC unroll 4
    for (int j = begin_of<kWindow>(t, i); j < n_touched; j += 16) {
      const F x = S::sub(S::load(s + j), max);  // scores of invisible positions may be anything
      F w = kWhole ? Exp2<S>::of_at_most_127(x) : Exp2<S>::of(x);
      if constexpr (!kWhole) w = S::select_first(n - j, w, S::zero());
      if constexpr (kWindow) w = S::select_first(t.from[i] - j, S::zero(), w);
      S::store(s + j, w);
      sum = S::add(sum, w);
    }
    S::store(t.sum + 16 * i, sum);
  }

  // acc[i][d] = acc[i][d] * factor[i] + sum of w[i][j] * v[j][d] over the visible j only, for n
  // channels from `channel` on.
  template <class T>
  struct WeighBlock {
    const AttendTileArgs& t;
    const View<T>& values;
    int channel, n;
    Ahead& ahead;

    template <int R>
    void of(int query) const {
      const int common = Blocks::seen_by_all(t, query, R);
      const Start start = t.first ? Start::kZero : Start::kScale;
      if (t.from != nullptr) return of_window<R>(query, common, start);
      add<R>(query, 0, common, start);
      add_rest<R>(query, common);
    }

    // Adds the positions from `begin` on, which not all R queries see, query by query.
    template <int R>
    void add_rest(int query, int begin) const {
      if constexpr (R > 1) {
        for (int i = query; i < query + R; ++i)
          if (Blocks::seen(t, i) > begin) add<1>(i, begin, Blocks::seen(t, i), Start::kKeep);
      }
    }

    // Queries start at positions of their own: each alone up to where all of them see.
    template <int R>
    void of_window(int query, int common, Start start) const {
      const int begin = Blocks::begin_of_all(t, query, R);
      if (begin == Blocks::begin_of_any(t, query, R)) {
        add<R>(query, begin, common, start);
        return add_rest<R>(query, common);
      }
      for (int i = query; i < query + R; ++i)
        add<1>(i, t.from[i], begin < common ? begin : Blocks::seen(t, i), start);
      if (begin >= common) return;  // no position that all of them see
      add<R>(query, begin, common, Start::kKeep);
      add_rest<R>(query, common);
    }

    // Positions [begin, end) for R queries from `query` on.
    template <int R>
    void add(int query, int begin, int end, Start start) const {
      typename Product::template Operands<T> o;
      o.a_stride = padded(t.tile_len);
      o.b_stride = values.stride;
      o.c_stride = padded(t.head_dim);
      o.factor = t.factor + query;
      const int n_vectors = (n + 15) / 16;
      for (int vector = 0; vector < n_vectors;) {
        const int width = Product::template width<R>(n_vectors - vector);
        o.c = t.acc + query * o.c_stride + channel + 16 * vector;
        o.start = start;
        int j = begin, page = begin / values.len;
        do {  // once per page, and once even for no position: the state must start
          const int page_end = smaller(end, (page + 1) * values.len);
          const typename T::Element* row = values.at(page) + (j - page * values.len) * o.b_stride;
          for (int v = 0; v < width; ++v) o.b[v] = row + values.channel + 16 * (vector + v);
          o.a = t.scores + query * o.a_stride + j;
          o.n_k = page_end - j;
          Product::template strip<T, R>(width, o, ahead);
          o.start = Start::kKeep;
          j = page_end;
          ++page;
        } while (j < end);
        vector += width;
      }
    }
  };
  template <class T>
  static void weigh(const AttendTileArgs& t, const View<T>& values, int channel, int n,
                    Ahead& ahead) {
    Blocks::for_each(t.n_queries, WeighBlock<T>{t, values, channel, n, ahead});
  }
};

}  // namespace pando::kernel
