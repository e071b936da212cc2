#include "exec/cpu/kernel/attention.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/check.h"
#include "base/fault.h"
#include "exec/cpu/kernel/attention_item.h"
#include "exec/cpu/kernel/row_chunks.h"

namespace pando::kernel {
namespace {

constexpr int kQueriesEach = 128;  // query rows of a work item: their state stays in L2
constexpr int kFewestHeadsEach = 4;

int ceil_div(int a, int b) { return (a + b - 1) / b; }

AttentionSplit split(const AttentionArgs& args, int n_threads, const AttentionBlocks* blocks) {
  const KvShape& shape = args.kv.shape;
  const int n_rows = static_cast<int>(args.positions.size());
  const int n_spans = *std::ranges::max_element(args.all_last()) / shape.span_len + 1;
  AttentionSplit s;
  s.blocks = blocks;
  s.group = args.n_heads / shape.n_kv_heads;
  s.n_groups = shape.n_kv_heads;
  s.n_rows = n_rows;
  s.rows_each = std::clamp(kQueriesEach / s.group, 1, n_rows);
  const int wanted = n_threads == 1 ? 1 : kItemsPerThread * n_threads;
  const auto n_items = [&] { return s.n_groups * ceil_div(n_rows, s.rows_each); };
  const int n_parts = std::clamp(ceil_div(wanted, n_items()), 1, n_spans);
  uint32_t spans_each = std::bit_ceil(static_cast<uint32_t>(ceil_div(n_spans, n_parts)));
  if (blocks != nullptr) spans_each = std::min(spans_each, blocks->spans_each);
  s.spans_each = static_cast<int>(spans_each);
  s.n_parts = ceil_div(n_spans, s.spans_each);
  while (n_items() * s.n_parts < wanted && s.rows_each * s.group >= 2 * kFewestQueriesEach)
    s.rows_each = ceil_div(s.rows_each, 2);
  // If many heads share a KV head, products take longer than reading it. Then several threads read
  // it, rather than one while others idle.
  while (n_items() * s.n_parts < n_threads && s.group % 2 == 0 && s.group >= 2 * kFewestHeadsEach) {
    s.group /= 2;
    s.n_groups *= 2;
  }
  s.n_chunks = ceil_div(n_rows, s.rows_each);
  s.rows_each = ceil_div(n_rows, s.n_chunks);  // of nearly equal size
  return s;
}

// Merges the states of neighbours, state_of(0) to state_of(last), into the first of them.
template <class StateOf>
SpanState merged(const Kernels& kernels, int head_dim, uint32_t last, const StateOf& state_of) {
  std::array<SpanState, 33> stack;
  for (uint32_t i = 0; i <= last; ++i) {
    int top = span_slot(i);
    stack[top] = state_of(i);
    for (int n = n_span_merges(i, i == last); n > 0; --n, --top)
      merge_states(kernels, head_dim, stack[top - 1], stack[top]);
  }
  return stack[0];
}

// Merges the parts of one row.
void merge_parts(const Kernels& kernels, const AttentionArgs& args, const AttentionSplit& split,
                 const PartialStates& partials, int row) {
  const KvShape& shape = args.kv.shape;
  const uint32_t last_part = args.last(row) / shape.span_len / split.spans_each;
  for (int head = 0; head < args.n_heads; ++head) {
    const SpanState state = merged(kernels, shape.head_dim, last_part, [&](uint32_t part) {
      return partials.of(static_cast<int>(part), row, head);
    });
    const int64_t out = (static_cast<int64_t>(row) * args.n_heads + head) * shape.head_dim;
    const float* const sink = fault_on(Fault::kSinkLostInParts) ? nullptr : sink_of(args, head);
    finish_state(kernels, shape.head_dim, state, sink, args.out + out);
  }
}

// Does the same up to the end of each block that is here.
void merge_in_blocks(const Kernels& kernels, const AttentionArgs& args, const AttentionSplit& split,
                     const PartialStates& partials, int row) {
  const AttentionBlocks& blocks = *split.blocks;
  const KvShape& shape = args.kv.shape;
  const size_t n_state = state_len(shape.head_dim);
  const uint32_t last_span = args.last(row) / shape.span_len;
  const uint32_t last_part = last_span / split.spans_each;
  const uint32_t parts_each = blocks.spans_each / split.spans_each;
  for (uint32_t block = 0; block <= last_span / blocks.spans_each; ++block) {
    if (!split.is_here(row, block * blocks.spans_each)) continue;
    const uint32_t first = block * parts_each;
    const uint32_t last = std::min(first + parts_each - 1, last_part);
    for (int head = 0; head < args.n_heads; ++head) {
      const SpanState state = merged(kernels, shape.head_dim, last - first, [&](uint32_t i) {
        return partials.of(static_cast<int>(first + i), row, head);
      });
      std::copy_n(state.max, n_state,
                  blocks.of(block, row, split.n_rows, args.n_heads * n_state) + head * n_state);
    }
  }
}

// Computes all work items.
void run_items(const Kernels& kernels, ThreadPool& pool, const AttentionArgs& args,
               const AttentionSplit& split, const PartialStates& partials,
               AttentionScratch& scratch) {
  const int64_t n_items = static_cast<int64_t>(split.n_chunks) * split.n_groups * split.n_parts;
  pool.parallel_for(n_items, [&](int64_t item, int worker) {
    AttentionItem fold(kernels, args, split, item);
    fold.use(scratch.of(worker));
    fold.run(partials);
  });
}

AttentionSplit prepare(const Kernels& kernels, ThreadPool& pool, const AttentionArgs& args,
                       const AttentionBlocks* blocks, AttentionScratch& scratch) {
  const KvShape& shape = args.kv.shape;
  PANDO_CHECK(args.n_heads % shape.n_kv_heads == 0 && shape.head_dim % 4 == 0);
  PANDO_CHECK(shape.tile_len % shape.page_len == 0 && shape.span_len % shape.tile_len == 0);
  PANDO_CHECK(shape.pages_per_tile() <= kMostPages);
  const AttentionSplit parts = split(args, pool.n_threads(), blocks);
  const size_t n_bytes = AttentionItem(kernels, args, parts, 0).use(nullptr);
  scratch.reserve(pool.n_threads(), n_bytes, PartialStates::n_bytes(args, parts));
  return parts;
}

}  // namespace

void AttentionScratch::reserve(int n_workers, size_t n_bytes, size_t n_shared_bytes) {
  buffer_.reserve(n_workers * n_bytes);
  shared_.reserve(n_shared_bytes);
  bytes_each_ = n_bytes;
}

size_t state_len(int head_dim) { return 16 + static_cast<size_t>(round_up_16(head_dim)); }

void attention(const Kernels& kernels, ThreadPool& pool, const AttentionArgs& args,
               AttentionScratch& scratch) {
  if (args.positions.empty()) return;
  const AttentionSplit parts = prepare(kernels, pool, args, nullptr, scratch);
  const PartialStates partials(args, parts, scratch.shared());
  run_items(kernels, pool, args, parts, partials, scratch);
  if (parts.n_parts == 1) return;
  pool.parallel_for(parts.n_rows, [&](int64_t row, int) {
    merge_parts(kernels, args, parts, partials, static_cast<int>(row));
  });
}

void attend_blocks(const Kernels& kernels, ThreadPool& pool, const AttentionArgs& args,
                   const AttentionBlocks& blocks, AttentionScratch& scratch) {
  if (args.tasks.empty()) return;
  const AttentionSplit parts = prepare(kernels, pool, args, &blocks, scratch);
  const PartialStates partials(args, parts, scratch.shared());
  run_items(kernels, pool, args, parts, partials, scratch);
  pool.parallel_for(parts.n_rows, [&](int64_t row, int) {
    merge_in_blocks(kernels, args, parts, partials, static_cast<int>(row));
  });
}

void finish_blocks(const Kernels& kernels, const AttentionArgs& args, const AttentionBlocks& blocks,
                   uint32_t row, float* out) {
  const int head_dim = args.kv.shape.head_dim;
  const size_t n_state = state_len(head_dim), n_rows = args.positions.size();
  const uint32_t last = args.last(row) / args.kv.shape.span_len / blocks.spans_each;
  for (int head = 0; head < args.n_heads; ++head) {
    const SpanState state = merged(kernels, head_dim, last, [&](uint32_t block) {
      return state_at(blocks.of(block, row, n_rows, args.n_heads * n_state) + head * n_state);
    });
    finish_state(kernels, head_dim, state, sink_of(args, head),
                 out + static_cast<int64_t>(head) * head_dim);
  }
}

}  // namespace pando::kernel
