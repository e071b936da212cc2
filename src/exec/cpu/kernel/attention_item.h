// The work items of `attention`: how a call is cut, and what one item does.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "exec/cpu/kernel/attention.h"
#include "exec/cpu/kernel/query_work.h"

namespace pando::kernel {

// A binary counter of spans (docs/arithmetic.md, step 4): the slot that keeps span s, and the
// number of merges of the two topmost results once it is there.
int span_slot(uint32_t s);
int n_span_merges(uint32_t s, bool last);

// The state of one query after some spans.
struct SpanState {
  float* max;  // [1] f32, base 2
  float* sum;  // [1] f32
  float* acc;  // [padded head_dim] f32
};

// The state in state_len values from `p` on.
inline SpanState state_at(float* p) { return {.max = p, .sum = p + 1, .acc = p + 16}; }

// A state of no visible position has max -infinity, and nothing else of it is read.
inline void make_empty(const SpanState& state) {
  *state.max = -std::numeric_limits<float>::infinity();
}

// a becomes merge(a, b); merged with an empty state a, b stays as it is.
void merge_states(const Kernels& kernels, int head_dim, const SpanState& a, const SpanState& b);
// Sink score of a head; null if it has none.
inline const float* sink_of(const AttentionArgs& args, int head) {
  return args.sinks == nullptr ? nullptr : args.sinks + head;
}
// out[d] = acc[d] / z, where the sink, if it is not null, counts in z; out: [head_dim].
void finish_state(const Kernels& kernels, int head_dim, const SpanState& state, const float* sink,
                  float* out);

// Division of a call into work items: group of query heads x chunk of rows x part, an aligned run
// of spans. Parts are subtrees of the merge tree, so the division changes no bit.
struct AttentionSplit {
  int group;     // query heads of an item: all of a KV head, or some of them
  int n_groups;  // of all KV heads
  int n_rows;
  int rows_each;  // rows of a chunk
  int n_chunks;
  int spans_each;  // spans of a part, a power of two
  int n_parts;
  const AttentionBlocks* blocks;  // null: all keys and values are here

  // Results are states, which are still to be merged.
  bool makes_states() const { return n_parts > 1 || blocks != nullptr; }
  bool is_here(int row, uint32_t span) const {
    return blocks == nullptr || blocks->here[span / blocks->spans_each * n_rows + row] != 0;
  }
};

// Results of parts, where they are states: [n_parts, n_rows, n_heads] states.
class PartialStates {
 public:
  PartialStates(const AttentionArgs& args, const AttentionSplit& split, std::byte* memory)
      : at_(reinterpret_cast<float*>(memory)),
        stride_(static_cast<int64_t>(state_len(args.kv.shape.head_dim))),
        n_rows_(split.n_rows),
        n_heads_(args.n_heads) {}

  SpanState of(int part, int row, int head) const {
    return state_at(at_ +
                    stride_ * ((static_cast<int64_t>(part) * n_rows_ + row) * n_heads_ + head));
  }
  static size_t n_bytes(const AttentionArgs& args, const AttentionSplit& split) {
    if (!split.makes_states()) return 0;
    return sizeof(float) * state_len(args.kv.shape.head_dim) * split.n_parts * split.n_rows *
           args.n_heads;
  }

 private:
  float* at_;
  int64_t stride_;
  int n_rows_, n_heads_;
};

// One work item. Query i is row row_begin_ + i / group and head first_head_ + i % group.
class AttentionItem {
 public:
  AttentionItem(const Kernels& kernels, const AttentionArgs& args, const AttentionSplit& split,
                int64_t item)
      : kernels_(kernels),
        args_(args),
        shape_(args.kv.shape),
        split_(split),
        part_(item % split.n_parts),
        first_head_(static_cast<int>(item / split.n_parts % split.n_groups) * split.group),
        kv_head_(first_head_ / (args.n_heads / shape_.n_kv_heads)),
        row_begin_(item / split.n_parts / split.n_groups * split.rows_each),
        row_end_(std::min(row_begin_ + split.rows_each, split.n_rows)),
        dim_(round_up_16(shape_.head_dim)),
        n_queries_((row_end_ - row_begin_) * split.group),
        work_(shape_, args.cap) {}

  // Places its work space at `memory`, and returns the size of it in bytes.
  size_t use(std::byte* memory);
  // Attends and merges; writes rows of args.out, or of `partials` where results are states.
  void run(const PartialStates& partials);

 private:
  void scale_queries();
  // The first position that a row sees.
  uint32_t first_seen(int64_t row) const;
  bool sees(int64_t row, uint32_t tile) const;
  // True if a row of the task that belongs to this item sees the task's tile.
  bool is_seen(const AttentionTask& task) const;
  uint32_t first_tile() const;
  // All states of this item, before the first span.
  void empty_states(const PartialStates& partials);
  // Keys, then values of the task's pages.
  void list_chunks(const AttentionTask* task, int turn);
  // Folds a tile into the states of slot `slot` for the task's rows of this item that see it.
  void attend(const AttentionTask& task, int slot, int turn);
  // Does the same for rows [begin, end), which all see the tile; it is their first one of the span,
  // or of none of them.
  void attend_rows(const AttentionTask& task, int slot, int turn, int begin, int end, bool first);
  SpanState state(int slot, int query) const;
  // Every row that has reached `span` gets its state; a row that ends here is finished.
  void end_span(uint32_t span, const PartialStates& partials);

  const Kernels& kernels_;
  const AttentionArgs& args_;
  const KvShape& shape_;
  const AttentionSplit& split_;
  const int part_, first_head_, kv_head_, row_begin_, row_end_;
  const int dim_;  // padded head_dim
  const int n_queries_;

  QueryWork work_;
  // A stack of span results per query; the topmost is being folded.
  float* max_ = nullptr;  // [n_slots, n_queries]
  float* sum_ = nullptr;  // [n_slots, n_queries]
  float* acc_ = nullptr;  // [n_slots, n_queries, dim_]
  // The task at hand and the next, taking turns: [keys and values, pages].
  std::array<std::array<const std::byte*, 2 * kMostPages>, 2> chunks_;
  std::array<int, 2> n_chunks_{};
};

}  // namespace pando::kernel
