#include "kernel/attention.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/check.h"
#include "base/fault.h"
#include "kernel/cpu/attend.h"

namespace pando::kernel {
namespace {

constexpr int kQueriesEach = 96;        // query rows of a work item: their state stays in L2
constexpr int kFewestQueriesEach = 24;  // below this, reading pages again costs more than idling
constexpr int kItemsPerThread = 4;      // enough for an even end
constexpr int kMostPages = 64;          // pages of a tile

int padded(int n) { return (n + 15) / 16 * 16; }
int ceil_div(int a, int b) { return (a + b - 1) / b; }

// Where a binary counter of spans (docs/arithmetic.md, step 4) keeps span s, and how often the two
// topmost results merge once it is there.
int slot_of(uint32_t s) {
  if (fault_on(Fault::kSpanFoldLeft)) return s == 0 ? 0 : 1;
  return std::popcount(s);
}
int n_merges(uint32_t s, bool last) {
  if (fault_on(Fault::kSpanFoldLeft)) return s == 0 ? 0 : 1;
  return last ? std::popcount(s) : std::countr_one(s);
}

// The state of one query after some spans.
struct State {
  float* max;  // [1] f32, base 2
  float* sum;  // [1] f32
  float* acc;  // [padded head_dim] f32
};

void merge(const Kernels& kernels, int head_dim, const State& a, const State& b) {
  kernels.merge_spans({.head_dim = head_dim,
                       .max_a = a.max,
                       .sum_a = a.sum,
                       .acc_a = a.acc,
                       .max_b = b.max,
                       .sum_b = b.sum,
                       .acc_b = b.acc});
}

// out[d] = acc[d] / z; out: [head_dim].
void finish(const Kernels& kernels, int head_dim, const State& state, float* out) {
  kernels.scale(state.acc, 1.0f / *state.sum, head_dim, out);
}

float sum16(const float* lane) {  // lane: [16]
  float l[16];
  std::copy_n(lane, 16, l);
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) l[i] += l[i + half];
  return l[0];
}

// How a call is cut into work items: KV head x chunk of rows x part, an aligned run of spans.
// Parts are subtrees of the merge tree, so cutting changes no bit.
struct Split {
  int group;  // query heads of a KV head
  int n_rows;
  int rows_each;  // rows of a chunk
  int n_chunks;
  int spans_each;  // spans of a part, a power of two
  int n_parts;
};

Split split(const AttentionArgs& args, int n_threads) {
  const KvShape& shape = args.kv.shape;
  const int n_rows = static_cast<int>(args.positions.size());
  const int n_spans = *std::ranges::max_element(args.positions) / shape.span_len + 1;
  Split s;
  s.group = args.n_heads / shape.n_kv_heads;
  s.n_rows = n_rows;
  s.rows_each = std::clamp(kQueriesEach / s.group, 1, n_rows);
  const int wanted = n_threads == 1 ? 1 : kItemsPerThread * n_threads;
  const auto n_items = [&] { return shape.n_kv_heads * ceil_div(n_rows, s.rows_each); };
  const int n_parts = std::clamp(ceil_div(wanted, n_items()), 1, n_spans);
  s.spans_each = static_cast<int>(std::bit_ceil(static_cast<uint32_t>(ceil_div(n_spans, n_parts))));
  s.n_parts = ceil_div(n_spans, s.spans_each);
  while (n_items() * s.n_parts < wanted && s.rows_each * s.group >= 2 * kFewestQueriesEach)
    s.rows_each = ceil_div(s.rows_each, 2);
  s.n_chunks = ceil_div(n_rows, s.rows_each);
  return s;
}

// The tasks that concern rows [row_begin, row_end) and tiles [tile, tile_end), in order.
class TaskWalk {
 public:
  TaskWalk(std::span<const AttentionTask> tasks, uint32_t row_begin, uint32_t row_end,
           uint32_t tile, uint32_t tile_end)
      : tasks_(tasks), row_begin_(row_begin), row_end_(row_end), tile_(tile), tile_end_(tile_end) {
    seek();
  }

  const AttentionTask* next() {  // null after the last one
    while (at_ < tasks_.size() && tasks_[at_].tile < tile_end_) {
      const AttentionTask& task = tasks_[at_];
      if (task.tile == tile_ && task.row_begin < row_end_) return ++at_, &task;
      tile_ = std::max(tile_ + 1, task.tile);
      seek();
    }
    return nullptr;
  }

 private:
  // The first task of tile_ or later that does not end before our rows.
  void seek() {
    const auto precedes = [&](const AttentionTask& task) {
      return task.tile < tile_ || (task.tile == tile_ && task.row_end <= row_begin_);
    };
    if (at_ == tasks_.size() || !precedes(tasks_[at_])) return;  // as where all rows share pages
    at_ = std::partition_point(tasks_.begin() + at_, tasks_.end(), precedes) - tasks_.begin();
  }

  std::span<const AttentionTask> tasks_;
  uint32_t row_begin_, row_end_, tile_, tile_end_;
  size_t at_ = 0;
};

// Lays out arrays one after another, each aligned for vectors. With no memory it only counts.
class Layout {
 public:
  explicit Layout(std::byte* memory) : memory_(memory) {}
  float* floats(size_t n) { return reinterpret_cast<float*>(take(n * sizeof(float))); }
  int32_t* ints(size_t n) { return reinterpret_cast<int32_t*>(take(n * sizeof(int32_t))); }
  size_t n_bytes() const { return n_bytes_; }

 private:
  std::byte* take(size_t n_bytes) {
    const size_t at = n_bytes_;
    n_bytes_ += (n_bytes + 63) / 64 * 64;
    return memory_ == nullptr ? nullptr : memory_ + at;
  }
  std::byte* memory_;
  size_t n_bytes_ = 0;
};

// Results of parts, where there are several: [n_parts, n_rows, n_heads] states.
class Partials {
 public:
  Partials(const AttentionArgs& args, const Split& split, std::byte* memory)
      : at_(reinterpret_cast<float*>(memory)),
        stride_(16 + padded(args.kv.shape.head_dim)),
        n_rows_(split.n_rows),
        n_heads_(args.n_heads) {}

  State of(int part, int row, int head) const {
    float* p = at_ + stride_ * ((static_cast<int64_t>(part) * n_rows_ + row) * n_heads_ + head);
    return {.max = p, .sum = p + 1, .acc = p + 16};
  }
  static size_t n_bytes(const AttentionArgs& args, const Split& split) {
    if (split.n_parts == 1) return 0;
    return sizeof(float) * (16 + padded(args.kv.shape.head_dim)) * split.n_parts * split.n_rows *
           args.n_heads;
  }

 private:
  float* at_;
  int64_t stride_;
  int n_rows_, n_heads_;
};

// One work item. Query i of n_queries_ is row row_begin_ + i / group, head kv_head * group + i %
// group.
class ItemFold {
 public:
  ItemFold(const Kernels& kernels, const AttentionArgs& args, const Split& split, int64_t item)
      : kernels_(kernels),
        args_(args),
        shape_(args.kv.shape),
        split_(split),
        part_(item % split.n_parts),
        kv_head_(item / split.n_parts % shape_.n_kv_heads),
        row_begin_(item / split.n_parts / shape_.n_kv_heads * split.rows_each),
        row_end_(std::min(row_begin_ + split.rows_each, split.n_rows)),
        dim_(padded(shape_.head_dim)),
        n_queries_((row_end_ - row_begin_) * split.group) {}

  // Takes its work space from `memory` on and returns the size of it.
  size_t use(std::byte* memory) {
    const size_t n = split_.rows_each * split_.group;
    const size_t n_slots = std::bit_width(static_cast<uint32_t>(split_.spans_each - 1)) + 1;
    Layout layout(memory);
    q_ = layout.floats(n * dim_);
    lanes_ = layout.floats(n * 16);
    scores_ = layout.floats(n * padded(shape_.tile_len));
    factor_ = layout.floats(n);
    widened_ = layout.floats(kStripChannels * padded(shape_.tile_len));
    visible_ = layout.ints(n);
    max_ = layout.floats(n * n_slots);
    sum_ = layout.floats(n * n_slots);
    acc_ = layout.floats(n * n_slots * dim_);
    return layout.n_bytes();
  }

  void run(const Partials& partials) {
    const auto positions = args_.positions.subspan(row_begin_, row_end_ - row_begin_);
    const uint32_t n_tiles = *std::ranges::max_element(positions) / shape_.tile_len + 1;
    const uint32_t tiles_per_span = shape_.span_len / shape_.tile_len;
    const uint32_t tile_begin = part_ * split_.spans_each * tiles_per_span;
    if (tile_begin >= n_tiles) return;
    const uint32_t tile_end = std::min(n_tiles, tile_begin + split_.spans_each * tiles_per_span);

    scale_queries();
    TaskWalk walk(args_.tasks, row_begin_, row_end_, tile_begin, tile_end);
    const AttentionTask* task = walk.next();
    PANDO_CHECK(task != nullptr);
    list_chunks(task, 0);
    for (int turn = 0; task != nullptr; turn = 1 - turn) {
      const AttentionTask* next = walk.next();
      list_chunks(next, 1 - turn);
      const uint32_t span = task->tile / tiles_per_span;
      attend(*task, slot_of(span - part_ * split_.spans_each), turn);
      if (next == nullptr || next->tile / tiles_per_span != span) end_span(span, partials);
      task = next;
    }
  }

 private:
  void scale_queries() {
    for (int i = 0; i < n_queries_; ++i) {
      const int64_t row = row_begin_ + i / split_.group;
      const int64_t head = kv_head_ * split_.group + i % split_.group;
      kernels_.scale(args_.q + (row * args_.n_heads + head) * shape_.head_dim, args_.scale,
                     shape_.head_dim, q_ + i * dim_);
    }
  }

  // Keys, then values of the task's pages.
  void list_chunks(const AttentionTask* task, int turn) {
    n_chunks_[turn] = 0;
    if (task == nullptr) return;
    const int n = task->n_pages;
    PANDO_CHECK(n >= 1 && n <= shape_.pages_per_tile());
    for (int i = 0; i < n; ++i) {
      const std::byte* page = args_.kv.page(args_.task_pages[task->first_page + i]);
      chunks_[turn][i] = page + shape_.key_offset(args_.layer, kv_head_);
      chunks_[turn][n + i] = page + shape_.value_offset(args_.layer, kv_head_);
    }
    n_chunks_[turn] = 2 * n;
  }

  // Folds a tile into the states of slot `slot` for the task's rows of this item.
  void attend(const AttentionTask& task, int slot, int turn) {
    const int begin = std::max<int>(task.row_begin, row_begin_);
    const int end = std::min<int>(task.row_end, row_end_);
    const int n_pages = task.n_pages, first_query = (begin - row_begin_) * split_.group;
    const int n_slot_queries = split_.rows_each * split_.group;
    AttendTileArgs tile;
    tile.type = shape_.type;
    tile.head_dim = shape_.head_dim;
    tile.page_len = shape_.page_len;
    tile.tile_len = shape_.tile_len;
    tile.ahead = chunks_[1 - turn].data();
    tile.n_ahead = n_chunks_[1 - turn];
    tile.n_queries = (end - begin) * split_.group;
    tile.visible = visible_;
    tile.keep_masked = fault_on(Fault::kMaskedLaneTimesZero);
    tile.q = q_ + first_query * dim_;
    tile.max = max_ + slot * n_slot_queries + first_query;
    tile.sum = lanes_ + first_query * 16;
    tile.acc = acc_ + (slot * n_slot_queries + first_query) * dim_;
    tile.scores = scores_;
    tile.factor = factor_;
    tile.widened = widened_;
    const int n_pages_each = fault_on(Fault::kFoldPerPage) ? 1 : n_pages;
    for (int page = 0; page < n_pages; page += n_pages_each) {
      tile.n_pages = n_pages_each;
      tile.keys = chunks_[turn].data() + page;
      tile.values = chunks_[turn].data() + n_pages + page;
      tile.first = page == 0 && task.tile % (shape_.span_len / shape_.tile_len) == 0;
      const int n_held = n_pages_each * shape_.page_len;
      for (int row = begin; row < end; ++row) {
        const int64_t offset = static_cast<int64_t>(args_.positions[row]) -
                               static_cast<int64_t>(task.tile) * shape_.tile_len;
        PANDO_CHECK(offset >= 0 &&
                    std::min<int64_t>(offset + 1, shape_.tile_len) <= n_pages * shape_.page_len);
        const int64_t n = offset + 1 + fault_on(Fault::kStaleLane) - page * shape_.page_len;
        const int visible = static_cast<int>(std::clamp<int64_t>(n, 0, n_held));
        std::fill_n(visible_ + (row - begin) * split_.group, split_.group, visible);
      }
      kernels_.attend_tile(tile);
    }
  }

  State state(int slot, int query) const {
    const int i = slot * split_.rows_each * split_.group + query;
    return {.max = max_ + i, .sum = sum_ + i, .acc = acc_ + i * dim_};
  }

  // Every row that has reached `span` gets its state; a row that ends here is finished.
  void end_span(uint32_t span, const Partials& partials) {
    const uint32_t s = span - part_ * split_.spans_each;
    const int top = slot_of(s);
    for (int i = 0; i < n_queries_; ++i) {
      const int row = row_begin_ + i / split_.group;
      const int head = kv_head_ * split_.group + i % split_.group;
      const uint32_t last_span = args_.positions[row] / shape_.span_len;
      if (last_span < span) continue;
      const bool last = last_span == span || s + 1 == static_cast<uint32_t>(split_.spans_each);
      *state(top, i).sum = sum16(lanes_ + 16 * i);
      for (int slot = top, n = n_merges(s, last); n > 0; --n, --slot)
        merge(kernels_, shape_.head_dim, state(slot - 1, i), state(slot, i));
      if (!last) continue;
      const State done = state(0, i);
      if (split_.n_parts == 1) {
        const int64_t out = (static_cast<int64_t>(row) * args_.n_heads + head) * shape_.head_dim;
        finish(kernels_, shape_.head_dim, done, args_.out + out);
      } else {
        const State kept = partials.of(part_, row, head);
        *kept.max = *done.max;
        *kept.sum = *done.sum;
        std::copy_n(done.acc, dim_, kept.acc);
      }
    }
  }

  const Kernels& kernels_;
  const AttentionArgs& args_;
  const KvShape& shape_;
  const Split& split_;
  const int part_, kv_head_, row_begin_, row_end_;
  const int dim_;  // padded head_dim
  const int n_queries_;

  float* q_ = nullptr;       // [n_queries, dim_]
  float* lanes_ = nullptr;   // [n_queries, 16]
  float* scores_ = nullptr;  // [n_queries, padded tile_len]
  float* factor_ = nullptr;  // [n_queries]
  float* widened_ = nullptr;
  int32_t* visible_ = nullptr;  // [n_queries]
  // A stack of span results per query; the topmost is being folded.
  float* max_ = nullptr;  // [n_slots, n_queries]
  float* sum_ = nullptr;  // [n_slots, n_queries]
  float* acc_ = nullptr;  // [n_slots, n_queries, dim_]
  // The task at hand and the next, taking turns: [keys and values, pages].
  std::array<std::array<const std::byte*, 2 * kMostPages>, 2> chunks_;
  std::array<int, 2> n_chunks_{};
};

// Merges the parts of one row.
void merge_parts(const Kernels& kernels, const AttentionArgs& args, const Split& split,
                 const Partials& partials, int row) {
  const KvShape& shape = args.kv.shape;
  const uint32_t last_part = args.positions[row] / shape.span_len / split.spans_each;
  for (int head = 0; head < args.n_heads; ++head) {
    std::array<State, 33> stack;
    for (uint32_t part = 0; part <= last_part; ++part) {
      int top = slot_of(part);
      stack[top] = partials.of(part, row, head);
      for (int n = n_merges(part, part == last_part); n > 0; --n, --top)
        merge(kernels, shape.head_dim, stack[top - 1], stack[top]);
    }
    const int64_t out = (static_cast<int64_t>(row) * args.n_heads + head) * shape.head_dim;
    finish(kernels, shape.head_dim, stack[0], args.out + out);
  }
}

}  // namespace

void AttentionScratch::reserve(int n_workers, size_t n_bytes, size_t n_shared_bytes) {
  if (buffer_.size() < n_workers * n_bytes) buffer_ = AlignedBuffer(n_workers * n_bytes);
  if (shared_.size() < n_shared_bytes) shared_ = AlignedBuffer(n_shared_bytes);
  bytes_each_ = n_bytes;
}

void attention(const Kernels& kernels, ThreadPool& pool, const AttentionArgs& args,
               AttentionScratch& scratch) {
  if (args.positions.empty()) return;
  const KvShape& shape = args.kv.shape;
  PANDO_CHECK(args.n_heads % shape.n_kv_heads == 0 && shape.head_dim % 4 == 0);
  PANDO_CHECK(shape.tile_len % shape.page_len == 0 && shape.span_len % shape.tile_len == 0);
  PANDO_CHECK(shape.pages_per_tile() <= kMostPages);

  const Split parts = split(args, pool.n_threads());
  const size_t n_bytes = ItemFold(kernels, args, parts, 0).use(nullptr);
  scratch.reserve(pool.n_threads(), n_bytes, Partials::n_bytes(args, parts));
  const Partials partials(args, parts, scratch.shared());

  const int64_t n_items = static_cast<int64_t>(parts.n_chunks) * shape.n_kv_heads * parts.n_parts;
  pool.parallel_for(n_items, [&](int64_t item, int worker) {
    ItemFold fold(kernels, args, parts, item);
    fold.use(scratch.of(worker));
    fold.run(partials);
  });
  if (parts.n_parts == 1) return;
  pool.parallel_for(parts.n_rows, [&](int64_t row, int) {
    merge_parts(kernels, args, parts, partials, static_cast<int>(row));
  });
}

}  // namespace pando::kernel
