#include "exec/cpu/kernel/linear.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "exec/cpu/kernel/cpu/linear_block.h"

namespace pando::kernel {
namespace {

// Rows of one group that are multiplied together.
struct Tile {
  size_t group;
  int first;  // of all rows
  int n_rows;
};

std::vector<Tile> tiles_of(std::span<const int> group_ends, int64_t row_bytes) {
  // A power of two at most, so that batches of such have tiles of whole row blocks.
  const auto fit = std::bit_floor(static_cast<uint64_t>(kTileBytes / row_bytes));
  const int most = std::clamp(static_cast<int>(fit), kLeastTileRows, kTileRows);
  std::vector<Tile> tiles;
  tiles.reserve(group_ends.size());
  int begin = 0;
  for (size_t group = 0; group < group_ends.size(); begin = group_ends[group++]) {
    const int m = group_ends[group] - begin, n = (m + most - 1) / most;
    for (int i = 0; i < n; ++i) {
      const int first = first_of(i, n, m);
      tiles.push_back({group, begin + first, first_of(i + 1, n, m) - first});
    }
  }
  return tiles;
}

int most_rows(std::span<const Tile> tiles) {
  int most = 0;
  for (const Tile& tile : tiles) most = std::max(most, tile.n_rows);
  return most;
}

// Division of a product into work items: each tile times each part of the panels.
struct Cut {
  int n_panels;
  int n_parts;  // of the panels
  bool shared;  // among threads
};

// m: rows of all tiles.
Cut cut(std::span<const Tile> tiles, bool one_group, int64_t m, int n, int k, int n_threads) {
  // Below this many multiplications waking a thread costs more than it saves.
  constexpr int64_t kWorthSharing = 200'000;
  const int n_tiles = static_cast<int>(tiles.size());
  Cut c;
  c.n_panels = (n + kPanelLen - 1) / kPanelLen;
  c.n_parts = 1;
  c.shared = m * n * k >= kWorthSharing && n_threads > 1;
  if (!c.shared) return c;
  // Neighbouring panels in one item keep the prefetch going; several items a thread even out. Few
  // rows wait for memory alone, which is read the faster the longer the pieces are.
  const bool few_rows = most_rows(tiles) <= 4;
  const int items_each = few_rows ? 4 : 12, most_panels = few_rows ? 16 : 8;
  const int panels_each =
      std::clamp(c.n_panels * n_tiles / (items_each * n_threads), 1, most_panels);
  c.n_parts = (c.n_panels + panels_each - 1) / panels_each;
  // Each thread gets the same number, so that none waits for another's last one.
  if (one_group)
    c.n_parts = std::min((c.n_parts + n_threads - 1) / n_threads * n_threads, c.n_panels);
  return c;
}

// body(item, worker) for every item, on this thread alone or shared among all.
void run_items(ThreadPool& pool, int64_t n_items, bool shared,
               FunctionRef<void(int64_t item, int worker)> body) {
  if (shared) return pool.parallel_runs(n_items, body);
  for (int64_t item = 0; item < n_items; ++item) body(item, 0);
}

}  // namespace

bool PackedRows::same_for(DType a, DType b) {
  const auto is_half = [](DType type) { return type == DType::kF16 || type == DType::kBF16; };
  return a == b || (is_grouped(a) && is_grouped(b)) || (is_half(a) && is_half(b));
}

void PackedRows::pack(const Kernels& kernels, ThreadPool& pool, DType weights,
                      std::span<const int> group_ends, int k, RowSource source) {
  constexpr int64_t kWorthSharing = 16'384;
  weights_ = weights, k_ = k;
  group_ends_.assign(group_ends.begin(), group_ends.end());
  const int m = group_ends.empty() ? 0 : group_ends.back();
  if (m == 0) return;
  const int64_t row_bytes = packed_row_bytes(weights, unit_count(weights, k));
  const size_t own_len = (k + 15) / 16 * 16;
  data_.reserve(m * row_bytes);
  own_.reserve(pool.n_threads() * own_len * sizeof(float));
  const std::vector<Tile> tiles = tiles_of(group_ends, row_bytes);
  const bool shared = int64_t{m} * k >= kWorthSharing;
  // Neighbours' integers lie in the same cache lines, and in tile registers the scales of a row
  // block: from 64 rows on an item is such a block, but in a tile that has one fewer than others.
  const int most = most_rows(tiles), rows_each = !shared ? most : most < 64 ? 8 : 16;
  const int n_parts = (most + rows_each - 1) / rows_each;  // of a tile
  run_items(pool, std::ssize(tiles) * n_parts, shared, [&](int64_t item, int worker) {
    const Tile& tile = tiles[item / n_parts];
    const int part = static_cast<int>(item % n_parts);
    const int end = first_of(part + 1, n_parts, tile.n_rows);
    for (int row = first_of(part, n_parts, tile.n_rows); row < end; ++row)
      kernels.pack_row({.type = weights,
                        .x = source(tile.first + row, own_.as<float>() + worker * own_len),
                        .k = k,
                        .m = tile.n_rows,
                        .row = row,
                        .out = data_.data() + tile.first * row_bytes});
  });
}

void multiply(const Kernels& kernels, ThreadPool& pool, const PackedMatrix& w, const PackedRows& x,
              float* y, int64_t y_stride) {
  const PackedMatrix* const one = &w;
  multiply(kernels, pool, {&one, 1}, x, y, y_stride);
}

void multiply(const Kernels& kernels, ThreadPool& pool, std::span<const PackedMatrix* const> w,
              const PackedRows& x, float* y, int64_t y_stride) {
  PANDO_CHECK(w.size() == x.group_ends().size());
  if (w.empty()) return;
  const PackedMatrix& first = *w[0];
  const DType type = first.type();
  const int n = first.n(), k = first.k();
  for (const PackedMatrix* matrix : w)
    PANDO_CHECK(matrix->type() == type && matrix->n() == n && matrix->k() == k);
  PANDO_CHECK(PackedRows::same_for(x.weights(), type) && x.k() == k && y_stride >= n);
  const int64_t row_bytes = packed_row_bytes(type, unit_count(type, k));
  const std::vector<Tile> tiles = tiles_of(x.group_ends(), row_bytes);
  const Cut c = cut(tiles, w.size() == 1, x.group_ends().back(), n, k, pool.n_threads());
  run_items(pool, std::ssize(tiles) * c.n_parts, c.shared, [&](int64_t item, int) {
    const Tile& tile = tiles[item / c.n_parts];
    const int part = static_cast<int>(item % c.n_parts);
    const int column = first_of(part, c.n_parts, c.n_panels) * kPanelLen;
    const int next_column = first_of(part + 1, c.n_parts, c.n_panels) * kPanelLen;
    const int64_t strip = column / kStripLen;
    kernels.linear_block({.type = type,
                          .weights = w[tile.group]->data() + strip * strip_bytes(type, k),
                          .x = x.data() + tile.first * row_bytes,
                          .m = tile.n_rows,
                          .n = std::min(next_column, n) - column,
                          .k = k,
                          .goes_on = part + 1 < c.n_parts,
                          .fetch = fetches_few_rows(type),
                          .y = y + tile.first * y_stride + column,
                          .y_stride = y_stride});
  });
}

void linear(const Kernels& kernels, ThreadPool& pool, const PackedMatrix& w, const LinearArgs& args,
            PackedRows& scratch) {
  PANDO_CHECK(args.m >= 0 && args.x_stride >= w.k());
  scratch.pack(kernels, pool, w.type(), args.m, w.k(),
               [&](int row, float*) { return args.x + row * args.x_stride; });
  multiply(kernels, pool, w, scratch, args.y, args.y_stride);
}

}  // namespace pando::kernel
