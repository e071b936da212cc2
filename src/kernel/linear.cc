#include "kernel/linear.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "kernel/cpu/linear_block.h"

namespace pando::kernel {
namespace {

// How a product is cut into items of work.
struct Cut {
  int n_tiles;  // of rows
  int n_panels;
  int n_parts;  // of the panels
};

// A power of two at most, so that batches of such have tiles of whole row blocks.
int tiles_of(int m, int64_t row_bytes) {
  const auto fit = std::bit_floor(static_cast<uint64_t>(kTileBytes / row_bytes));
  const int most = std::clamp(static_cast<int>(fit), kLeastTileRows, kTileRows);
  return (m + most - 1) / most;
}

Cut cut(int m, int n, int k, int n_tiles, int n_threads) {
  // Below this many multiplications waking a thread costs more than it saves.
  constexpr int64_t kWorthSharing = 200'000;
  Cut c;
  c.n_panels = (n + kPanelLen - 1) / kPanelLen;
  c.n_tiles = n_tiles;
  // Neighbouring panels in one item keep the prefetch going; several items a thread even out. Few
  // rows wait for memory alone, which is read the faster the longer the pieces are.
  const bool few_rows = m <= 4;
  const int items_each = few_rows ? 4 : 12, most_panels = few_rows ? 16 : 8;
  if (int64_t{m} * n * k < kWorthSharing || n_threads == 1) {
    c.n_parts = 1;
    return c;
  }
  const int panels_each =
      std::clamp(c.n_panels * c.n_tiles / (items_each * n_threads), 1, most_panels);
  const int n_parts = (c.n_panels + panels_each - 1) / panels_each;
  // As many for each thread, so that none waits for another's last one.
  c.n_parts = std::min((n_parts + n_threads - 1) / n_threads * n_threads, c.n_panels);
  return c;
}

}  // namespace

bool PackedRows::same_for(DType a, DType b) {
  const auto is_half = [](DType type) { return type == DType::kF16 || type == DType::kBF16; };
  return a == b || (is_grouped(a) && is_grouped(b)) || (is_half(a) && is_half(b));
}

void PackedRows::pack(const Kernels& kernels, ThreadPool& pool, DType weights, int m, int k,
                      RowSource source) {
  constexpr int64_t kWorthSharing = 16'384;
  weights_ = weights, m_ = m, k_ = k;
  if (m == 0) return;
  const int64_t row_bytes = packed_row_bytes(weights, unit_count(weights, k));
  const size_t own_len = (k + 15) / 16 * 16;
  data_.reserve(m * row_bytes);
  own_.reserve(pool.n_threads() * own_len * sizeof(float));
  const int n_tiles = tiles_of(m, row_bytes), most_rows = (m + n_tiles - 1) / n_tiles;
  // Neighbours' integers lie in the same cache lines, and in tile registers the scales of a row
  // block: from 64 rows on an item is such a block, but in a tile that has one fewer than others.
  const int rows_each = int64_t{m} * k < kWorthSharing ? most_rows : m < 64 ? 8 : 16;
  const int n_parts = (most_rows + rows_each - 1) / rows_each;  // of a tile
  pool.parallel_runs(int64_t{n_tiles} * n_parts, [&](int64_t item, int worker) {
    const int tile = static_cast<int>(item) / n_parts, part = static_cast<int>(item) % n_parts;
    const int first = first_of(tile, n_tiles, m), n_rows = first_of(tile + 1, n_tiles, m) - first;
    const int end = first_of(part + 1, n_parts, n_rows);
    for (int row = first_of(part, n_parts, n_rows); row < end; ++row)
      kernels.pack_row({.type = weights,
                        .x = source(first + row, own_.as<float>() + worker * own_len),
                        .k = k,
                        .m = n_rows,
                        .row = row,
                        .out = data_.data() + first * row_bytes});
  });
}

void multiply(const Kernels& kernels, ThreadPool& pool, const PackedMatrix& w, const PackedRows& x,
              float* y, int64_t y_stride) {
  PANDO_CHECK(PackedRows::same_for(x.weights(), w.type()) && x.k() == w.k() && y_stride >= w.n());
  const int m = x.m();
  const int64_t row_bytes = packed_row_bytes(w.type(), unit_count(w.type(), w.k()));
  const Cut c = cut(m, w.n(), w.k(), tiles_of(m, row_bytes), pool.n_threads());
  pool.parallel_runs(int64_t{c.n_tiles} * c.n_parts, [&](int64_t item, int) {
    const int tile = static_cast<int>(item) / c.n_parts, part = static_cast<int>(item) % c.n_parts;
    const int row = first_of(tile, c.n_tiles, m);
    const int column = first_of(part, c.n_parts, c.n_panels) * kPanelLen;
    const int next_column = first_of(part + 1, c.n_parts, c.n_panels) * kPanelLen;
    const int64_t strip = column / kStripLen;
    kernels.linear_block({.type = w.type(),
                          .weights = w.data() + strip * strip_bytes(w.type(), w.k()),
                          .x = x.data() + row * row_bytes,
                          .m = first_of(tile + 1, c.n_tiles, m) - row,
                          .n = std::min(next_column, w.n()) - column,
                          .k = w.k(),
                          .goes_on = part + 1 < c.n_parts,
                          .fetch = fetches_few_rows(),
                          .y = y + row * y_stride + column,
                          .y_stride = y_stride});
  });
}

void multiply_each(const Kernels& kernels, ThreadPool& pool, std::span<const PackedMatrix> w, int m,
                   EachRowSource source, const EachOutput& out, AlignedBuffer& scratch) {
  if (m == 0) return;
  const DType type = w[0].type();
  const int n = w[0].n(), k = w[0].k();
  const int64_t row_bytes = packed_row_bytes(type, unit_count(type, k));
  const int n_tiles = tiles_of(m, row_bytes);
  const size_t tile_bytes = (m + n_tiles - 1) / n_tiles * row_bytes;
  scratch.reserve(pool.n_threads() * tile_bytes);
  pool.parallel_runs(std::ssize(w) * n_tiles, [&](int64_t item, int worker) {
    const int matrix = static_cast<int>(item) / n_tiles, tile = static_cast<int>(item) % n_tiles;
    PANDO_CHECK(w[matrix].type() == type && w[matrix].n() == n && w[matrix].k() == k);
    const int first = first_of(tile, n_tiles, m), n_rows = first_of(tile + 1, n_tiles, m) - first;
    std::byte* const packed = scratch.data() + worker * tile_bytes;
    for (int row = 0; row < n_rows; ++row)
      kernels.pack_row({.type = type,
                        .x = source(matrix, first + row),
                        .k = k,
                        .m = n_rows,
                        .row = row,
                        .out = packed});
    kernels.linear_block({.type = type,
                          .weights = w[matrix].data(),
                          .x = packed,
                          .m = n_rows,
                          .n = n,
                          .k = k,
                          .goes_on = false,
                          .fetch = fetches_few_rows(),
                          .y = out.y + matrix * out.step + first * out.row_stride,
                          .y_stride = out.row_stride});
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
