#include "kernel/attention.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/check.h"
#include "kernel/attention_item.h"
#include "kernel/row_chunks.h"

namespace pando::kernel {
namespace {

constexpr int kQueriesEach = 128;  // query rows of a work item: their state stays in L2

int ceil_div(int a, int b) { return (a + b - 1) / b; }

AttentionSplit split(const AttentionArgs& args, int n_threads) {
  const KvShape& shape = args.kv.shape;
  const int n_rows = static_cast<int>(args.positions.size());
  const int n_spans = *std::ranges::max_element(args.positions) / shape.span_len + 1;
  AttentionSplit s;
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
  s.rows_each = ceil_div(n_rows, s.n_chunks);  // of nearly equal size
  return s;
}

// Merges the parts of one row.
void merge_parts(const Kernels& kernels, const AttentionArgs& args, const AttentionSplit& split,
                 const PartialStates& partials, int row) {
  const KvShape& shape = args.kv.shape;
  const uint32_t last_part = args.positions[row] / shape.span_len / split.spans_each;
  for (int head = 0; head < args.n_heads; ++head) {
    std::array<SpanState, 33> stack;
    for (uint32_t part = 0; part <= last_part; ++part) {
      int top = span_slot(part);
      stack[top] = partials.of(part, row, head);
      for (int n = n_span_merges(part, part == last_part); n > 0; --n, --top)
        merge_states(kernels, shape.head_dim, stack[top - 1], stack[top]);
    }
    const int64_t out = (static_cast<int64_t>(row) * args.n_heads + head) * shape.head_dim;
    finish_state(kernels, shape.head_dim, stack[0], args.out + out);
  }
}

}  // namespace

void AttentionScratch::reserve(int n_workers, size_t n_bytes, size_t n_shared_bytes) {
  buffer_.reserve(n_workers * n_bytes);
  shared_.reserve(n_shared_bytes);
  bytes_each_ = n_bytes;
}

void attention(const Kernels& kernels, ThreadPool& pool, const AttentionArgs& args,
               AttentionScratch& scratch) {
  if (args.positions.empty()) return;
  const KvShape& shape = args.kv.shape;
  PANDO_CHECK(args.n_heads % shape.n_kv_heads == 0 && shape.head_dim % 4 == 0);
  PANDO_CHECK(shape.tile_len % shape.page_len == 0 && shape.span_len % shape.tile_len == 0);
  PANDO_CHECK(shape.pages_per_tile() <= kMostPages);

  const AttentionSplit parts = split(args, pool.n_threads());
  const size_t n_bytes = AttentionItem(kernels, args, parts, 0).use(nullptr);
  scratch.reserve(pool.n_threads(), n_bytes, PartialStates::n_bytes(args, parts));
  const PartialStates partials(args, parts, scratch.shared());

  const int64_t n_items = static_cast<int64_t>(parts.n_chunks) * shape.n_kv_heads * parts.n_parts;
  pool.parallel_for(n_items, [&](int64_t item, int worker) {
    AttentionItem fold(kernels, args, parts, item);
    fold.use(scratch.of(worker));
    fold.run(partials);
  });
  if (parts.n_parts == 1) return;
  pool.parallel_for(parts.n_rows, [&](int64_t row, int) {
    merge_parts(kernels, args, parts, partials, static_cast<int>(row));
  });
}

}  // namespace pando::kernel
