#include "kernel/linear.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "base/fault.h"
#include "kernel/cpu/linear_block.h"

namespace pando::kernel {
namespace {

// How a product is cut into items of work.
struct Cut {
  int n_tiles;   // of rows
  int n_slices;  // of inputs
  int n_panels;
  int n_parts;  // of the panels
};

constexpr int64_t kWorthPacking = 16'384;  // activations from which threads share their packing

Cut cut(DType type, int m, int n, int k, int n_threads) {
  // Below this many multiplications waking a thread costs more than it saves.
  constexpr int64_t kWorthSharing = 200'000;
  Cut c;
  c.n_panels = (n + kPanelLen - 1) / kPanelLen;
  c.n_tiles = (m + kTileRows - 1) / kTileRows;
  c.n_slices = (unit_count(type, k) + slice_units(type) - 1) / slice_units(type);
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

// The largest magnitude of each row, for int8, whose scale is that of the whole row.
void find_maxima(const Kernels& kernels, ThreadPool& pool, const float* x, int64_t x_stride, int m,
                 int k, std::vector<float>& amax) {
  if (amax.size() < static_cast<size_t>(m)) amax.resize(m);
  const auto find = [&](int64_t row, int) { amax[row] = kernels.abs_max(x + row * x_stride, k); };
  if (int64_t{m} * k >= kWorthPacking) return pool.parallel_for(m, find);
  for (int row = 0; row < m; ++row) find(row, 0);
}

void pack(const Kernels& kernels, ThreadPool& pool, const PackedMatrix& w, const Cut& c,
          const float* x, int64_t x_stride, int m, const float* amax, std::byte* out) {
  const int64_t row_bytes = packed_row_bytes(w.type(), unit_count(w.type(), w.k()));
  const auto pack_one = [&](int64_t item, int) {
    const int tile = static_cast<int>(item) / c.n_slices,
              slice = static_cast<int>(item) % c.n_slices;
    const int row = first_of(tile, c.n_tiles, m);
    const int n_rows = first_of(tile + 1, c.n_tiles, m) - row;
    const int unit = slice * slice_units(w.type());
    const int i = unit * unit_len(w.type());
    const int len = std::min(slice_units(w.type()) * unit_len(w.type()), w.k() - i);
    std::byte* to = out + row * row_bytes + packed_row_bytes(w.type(), unit) * n_rows;
    kernels.pack_slice({w.type(), x + row * x_stride + i, x_stride, n_rows, len, to, amax + row});
  };
  const int n_items = c.n_tiles * c.n_slices;
  if (int64_t{m} * w.k() >= kWorthPacking) return pool.parallel_for(n_items, pack_one);
  for (int item = 0; item < n_items; ++item) pack_one(item, 0);
}

void multiply(const Kernels& kernels, ThreadPool& pool, const PackedMatrix& w, const Cut& c,
              const std::byte* x, int m, float* y, int64_t y_stride) {
  const int64_t row_bytes = packed_row_bytes(w.type(), unit_count(w.type(), w.k()));
  pool.parallel_for(int64_t{c.n_tiles} * c.n_parts, [&](int64_t item, int) {
    const int tile = static_cast<int>(item) / c.n_parts, part = static_cast<int>(item) % c.n_parts;
    const int row = first_of(tile, c.n_tiles, m);
    const int column = first_of(part, c.n_parts, c.n_panels) * kPanelLen;
    const int next_column = first_of(part + 1, c.n_parts, c.n_panels) * kPanelLen;
    const int64_t strip = column / kStripLen;
    kernels.linear_block({.type = w.type(),
                          .weights = w.data() + strip * strip_bytes(w.type(), w.k()),
                          .x = x + row * row_bytes,
                          .m = first_of(tile + 1, c.n_tiles, m) - row,
                          .n = std::min(next_column, w.n()) - column,
                          .k = w.k(),
                          .y = y + row * y_stride + column,
                          .y_stride = y_stride});
  });
}

void product(const Kernels& kernels, ThreadPool& pool, const PackedMatrix& w, const float* x,
             int64_t x_stride, int m, float* y, int64_t y_stride, LinearScratch& scratch) {
  const Cut c = cut(w.type(), m, w.n(), w.k(), pool.n_threads());
  const size_t bytes = m * packed_row_bytes(w.type(), unit_count(w.type(), w.k()));
  if (scratch.activations.size() < bytes) scratch.activations = AlignedBuffer(bytes);
  if (w.type() == DType::kI8) find_maxima(kernels, pool, x, x_stride, m, w.k(), scratch.amax);
  pack(kernels, pool, w, c, x, x_stride, m, scratch.amax.data(), scratch.activations.data());
  multiply(kernels, pool, w, c, scratch.activations.data(), m, y, y_stride);
}

// Fault::kSplitSumOverK: the two halves of the inputs apart, added at the end.
void split_product(const Kernels& kernels, ThreadPool& pool, const PackedMatrix& w, const float* x,
                   int64_t x_stride, int m, float* y, int64_t y_stride, LinearScratch& scratch) {
  std::vector<float> low(int64_t{m} * w.k()), high(low.size()), sum(int64_t{m} * w.n());
  for (int64_t r = 0; r < m; ++r)
    for (int i = 0; i < w.k(); ++i)
      (i < w.k() / 2 ? low : high)[r * w.k() + i] = x[r * x_stride + i];
  product(kernels, pool, w, low.data(), w.k(), m, y, y_stride, scratch);
  product(kernels, pool, w, high.data(), w.k(), m, sum.data(), w.n(), scratch);
  for (int64_t r = 0; r < m; ++r) kernels.add(y + r * y_stride, &sum[r * w.n()], w.n());
}

}  // namespace

void linear(const Kernels& kernels, ThreadPool& pool, const PackedMatrix& w, const float* x,
            int64_t x_stride, int m, float* y, int64_t y_stride, LinearScratch& scratch) {
  PANDO_CHECK(m >= 0 && x_stride >= w.k() && y_stride >= w.n());
  if (m == 0) return;
  if (fault_on(Fault::kSplitSumOverK) && m >= 64)
    return split_product(kernels, pool, w, x, x_stride, m, y, y_stride, scratch);
  product(kernels, pool, w, x, x_stride, m, y, y_stride, scratch);
}

}  // namespace pando::kernel
