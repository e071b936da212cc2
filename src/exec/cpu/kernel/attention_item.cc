#include "exec/cpu/kernel/attention_item.h"

#include <bit>

#include "base/check.h"
#include "base/fault.h"

namespace pando::kernel {
namespace {

float sum16(const float* lane) {  // lane: [16]
  float l[16];
  std::copy_n(lane, 16, l);
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) l[i] += l[i + half];
  return l[0];
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

}  // namespace

int span_slot(uint32_t s) {
  if (fault_on(Fault::kSpanFoldLeft)) return s == 0 ? 0 : 1;
  return std::popcount(s);
}
int n_span_merges(uint32_t s, bool last) {
  if (fault_on(Fault::kSpanFoldLeft)) return s == 0 ? 0 : 1;
  return last ? std::popcount(s) : std::countr_one(s);
}

void merge_states(const Kernels& kernels, int head_dim, const SpanState& a, const SpanState& b) {
  if (*a.max == -std::numeric_limits<float>::infinity()) {
    *a.max = *b.max;
    *a.sum = *b.sum;
    std::copy_n(b.acc, round_up_16(head_dim), a.acc);
    return;
  }
  kernels.merge_spans({.head_dim = head_dim,
                       .max_a = a.max,
                       .sum_a = a.sum,
                       .acc_a = a.acc,
                       .max_b = b.max,
                       .sum_b = b.sum,
                       .acc_b = b.acc});
}

void finish_state(const Kernels& kernels, int head_dim, const SpanState& state, const float* sink,
                  float* out) {
  const float factor =
      sink == nullptr ? 1.0f / *state.sum : kernels.sink_factor(*state.max, *state.sum, *sink);
  kernels.scale(state.acc, factor, head_dim, out);
}

size_t AttentionItem::use(std::byte* memory) {
  const size_t n = split_.rows_each * split_.group;
  const size_t n_slots = std::bit_width(static_cast<uint32_t>(split_.spans_each - 1)) + 1;
  WorkSpace space(memory);
  work_.use(space, n);
  max_ = space.floats(n * n_slots);
  sum_ = space.floats(n * n_slots);
  acc_ = space.floats(n * n_slots * dim_);
  return space.n_bytes();
}

void AttentionItem::run(const PartialStates& partials) {
  const auto last = args_.all_last().subspan(row_begin_, row_end_ - row_begin_);
  const uint32_t n_tiles = *std::ranges::max_element(last) / shape_.tile_len + 1;
  const uint32_t tiles_per_span = shape_.span_len / shape_.tile_len;
  const uint32_t part_begin = part_ * split_.spans_each * tiles_per_span;
  if (part_begin >= n_tiles) return;
  const uint32_t tile_begin = std::max(part_begin, first_tile());
  const uint32_t tile_end = std::min(n_tiles, part_begin + split_.spans_each * tiles_per_span);
  if (args_.window > 0) empty_states(partials);
  if (tile_begin >= tile_end) return;

  scale_queries();
  TaskWalk walk(args_.tasks, row_begin_, row_end_, tile_begin, tile_end);
  const auto next_seen = [&] {
    const AttentionTask* task = walk.next();
    while (task != nullptr && !is_seen(*task)) task = walk.next();
    return task;
  };
  const AttentionTask* task = next_seen();
  PANDO_CHECK(task != nullptr || args_.window > 0 || split_.blocks != nullptr);
  list_chunks(task, 0);
  for (int turn = 0; task != nullptr; turn = 1 - turn) {
    const AttentionTask* next = next_seen();
    list_chunks(next, 1 - turn);
    const uint32_t span = task->tile / tiles_per_span;
    attend(*task, span_slot(span - part_ * split_.spans_each), turn);
    if (next == nullptr || next->tile / tiles_per_span != span) end_span(span, partials);
    task = next;
  }
}

uint32_t AttentionItem::first_seen(int64_t row) const {
  const uint32_t end = args_.positions[row] + 1, window = args_.window;
  return window == 0 || end <= window ? 0 : end - window - fault_on(Fault::kWindowTooWide);
}

bool AttentionItem::sees(int64_t row, uint32_t tile) const {
  const auto tile_len = static_cast<uint32_t>(shape_.tile_len);
  return first_seen(row) < (tile + 1) * tile_len && args_.last(row) >= tile * tile_len;
}

bool AttentionItem::is_seen(const AttentionTask& task) const {
  if (args_.window == 0) return true;
  const int64_t end = std::min<int64_t>(task.row_end, row_end_);
  for (int64_t row = std::max<int64_t>(task.row_begin, row_begin_); row < end; ++row)
    if (sees(row, task.tile)) return true;
  return false;
}

uint32_t AttentionItem::first_tile() const {
  if (args_.window == 0) return 0;
  uint32_t first = first_seen(row_begin_);
  for (int row = row_begin_ + 1; row < row_end_; ++row) first = std::min(first, first_seen(row));
  return first / shape_.tile_len;
}

// Spans that a row does not see are not visited.
void AttentionItem::empty_states(const PartialStates& partials) {
  const size_t n_slots = std::bit_width(static_cast<uint32_t>(split_.spans_each - 1)) + 1;
  for (size_t slot = 0; slot < n_slots; ++slot)
    for (int i = 0; i < n_queries_; ++i) make_empty(state(static_cast<int>(slot), i));
  if (!split_.makes_states()) return;
  for (int i = 0; i < n_queries_; ++i)
    make_empty(partials.of(part_, row_begin_ + i / split_.group, first_head_ + i % split_.group));
}

void AttentionItem::scale_queries() {
  for (int i = 0; i < n_queries_; ++i) {
    const int64_t row = row_begin_ + i / split_.group;
    const int64_t head = first_head_ + i % split_.group;
    work_.set(kernels_, i, args_.q + row * args_.q_stride + head * shape_.head_dim, args_.scale);
  }
}

void AttentionItem::list_chunks(const AttentionTask* task, int turn) {
  n_chunks_[turn] = 0;
  if (task == nullptr) return;
  const int n = task->n_pages;
  PANDO_CHECK(n >= 1 && n <= shape_.pages_per_tile());
  for (int i = 0; i < n; ++i) {
    const PageId id = args_.task_pages[task->first_page + i];
    PANDO_CHECK(id != kNoPage);
    const std::byte* page = args_.kv.page(id);
    chunks_[turn][i] = page + shape_.key_offset(args_.layer, kv_head_);
    chunks_[turn][n + i] = page + shape_.value_offset(args_.layer, kv_head_);
  }
  n_chunks_[turn] = 2 * n;
}

void AttentionItem::attend(const AttentionTask& task, int slot, int turn) {
  const int begin = std::max<int>(task.row_begin, row_begin_);
  const int end = std::min<int>(task.row_end, row_end_);
  const bool opens_span = task.tile % (shape_.span_len / shape_.tile_len) == 0;
  if (args_.window == 0) return attend_rows(task, slot, turn, begin, end, opens_span);
  const uint32_t tile_begin = task.tile * shape_.tile_len;
  const auto first = [&](int row) { return opens_span || first_seen(row) >= tile_begin; };
  for (int row = begin; row < end;) {
    const int run = row;
    const bool seen = sees(run, task.tile), run_first = first(run);
    while (row < end && sees(row, task.tile) == seen && first(row) == run_first) ++row;
    if (seen) attend_rows(task, slot, turn, run, row, run_first);
  }
}

void AttentionItem::attend_rows(const AttentionTask& task, int slot, int turn, int begin, int end,
                                bool first) {
  const int n_pages = task.n_pages, first_query = (begin - row_begin_) * split_.group;
  const int n_slot_queries = split_.rows_each * split_.group;
  AttendTileArgs tile = work_.args(first_query, (end - begin) * split_.group);
  tile.ahead = chunks_[1 - turn].data();
  tile.n_ahead = n_chunks_[1 - turn];
  tile.from = args_.window > 0 ? work_.from : nullptr;
  tile.keep_masked = fault_on(Fault::kMaskedLaneTimesZero);
  tile.max = max_ + slot * n_slot_queries + first_query;
  tile.acc = acc_ + (slot * n_slot_queries + first_query) * dim_;
  const int n_pages_each = fault_on(Fault::kFoldPerPage) ? 1 : n_pages;
  const int64_t tile_begin = static_cast<int64_t>(task.tile) * shape_.tile_len;
  for (int page = 0; page < n_pages; page += n_pages_each) {
    tile.n_pages = n_pages_each;
    tile.keys = chunks_[turn].data() + page;
    tile.values = chunks_[turn].data() + n_pages + page;
    tile.first = page == 0 && first;
    const int n_held = n_pages_each * shape_.page_len;
    for (int row = begin; row < end; ++row) {
      const int64_t offset = static_cast<int64_t>(args_.last(row)) - tile_begin;
      PANDO_CHECK(offset >= 0 &&
                  std::min<int64_t>(offset + 1, shape_.tile_len) <= n_pages * shape_.page_len);
      const int64_t n = offset + 1 + fault_on(Fault::kStaleLane) - page * shape_.page_len;
      const int visible = static_cast<int>(std::clamp<int64_t>(n, 0, n_held));
      const int query = (row - begin) * split_.group;
      std::fill_n(work_.visible + query, split_.group, visible);
      if (args_.window == 0) continue;
      const int64_t from = first_seen(row) - tile_begin - page * shape_.page_len;
      std::fill_n(work_.from + query, split_.group,
                  static_cast<int>(std::clamp<int64_t>(from, 0, n_held)));
    }
    kernels_.attend_tile(tile);
  }
}

SpanState AttentionItem::state(int slot, int query) const {
  const int i = slot * split_.rows_each * split_.group + query;
  return {.max = max_ + i, .sum = sum_ + i, .acc = acc_ + i * dim_};
}

void AttentionItem::end_span(uint32_t span, const PartialStates& partials) {
  const uint32_t s = span - part_ * split_.spans_each;
  const int top = span_slot(s);
  for (int i = 0; i < n_queries_; ++i) {
    const int row = row_begin_ + i / split_.group;
    const int head = first_head_ + i % split_.group;
    const uint32_t last_span = args_.last(row) / shape_.span_len;
    if (last_span < span || first_seen(row) / shape_.span_len > span || !split_.is_here(row, span))
      continue;
    const bool last = last_span == span || s + 1 == static_cast<uint32_t>(split_.spans_each);
    *state(top, i).sum = sum16(work_.lanes + 16 * i);
    for (int slot = top, n = n_span_merges(s, last); n > 0; --n, --slot)
      merge_states(kernels_, shape_.head_dim, state(slot - 1, i), state(slot, i));
    if (!last) continue;
    const SpanState done = state(0, i);
    if (!split_.makes_states()) {
      const int64_t out = (static_cast<int64_t>(row) * args_.n_heads + head) * shape_.head_dim;
      finish_state(kernels_, shape_.head_dim, done, sink_of(args_, head), args_.out + out);
    } else {
      const SpanState kept = partials.of(part_, row, head);
      *kept.max = *done.max;
      *kept.sum = *done.sum;
      std::copy_n(done.acc, dim_, kept.acc);
    }
  }
}

}  // namespace pando::kernel
