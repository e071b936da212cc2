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
  int panels_each;
  int n_parts;  // of the outputs, panels_each panels in each
};

Cut cut(DType type, int m, int n, int k, int n_threads) {
  // Below this many multiplications waking a thread costs more than it saves.
  constexpr int64_t kWorthSharing = 200'000;
  const int n_panels = (n + kPanelLen - 1) / kPanelLen;
  Cut c;
  c.n_tiles = (m + kTileRows - 1) / kTileRows;
  c.n_slices = (unit_count(type, k) + slice_units(type) - 1) / slice_units(type);
  // Neighbouring panels in one item keep the prefetch going; several items a thread even out.
  c.panels_each = int64_t{m} * n * k < kWorthSharing || n_threads == 1
                      ? n_panels
                      : std::clamp(n_panels * c.n_tiles / (12 * n_threads), 1, 8);
  c.n_parts = (n_panels + c.panels_each - 1) / c.panels_each;
  return c;
}

void pack(const Kernels& kernels, ThreadPool& pool, const PackedMatrix& w, const Cut& c,
          const float* x, int64_t x_stride, int m, std::byte* out) {
  const int row_unit_bytes = packed_unit_bytes(w.type());
  const int row_bytes = unit_count(w.type(), w.k()) * row_unit_bytes;
  const auto pack_one = [&](int64_t item, int) {
    const int tile = static_cast<int>(item) / c.n_slices,
              slice = static_cast<int>(item) % c.n_slices;
    const int row = first_of(tile, c.n_tiles, m);
    const int n_rows = first_of(tile + 1, c.n_tiles, m) - row;
    const int unit = slice * slice_units(w.type());
    const int i = unit * unit_len(w.type());
    const int len = std::min(slice_units(w.type()) * unit_len(w.type()), w.k() - i);
    std::byte* to = out + int64_t{row} * row_bytes + int64_t{unit} * row_unit_bytes * n_rows;
    kernels.pack_slice({w.type(), x + row * x_stride + i, x_stride, n_rows, len, to});
  };
  const int n_items = c.n_tiles * c.n_slices;
  if (int64_t{m} * w.k() >= 16'384) return pool.parallel_for(n_items, pack_one);
  for (int item = 0; item < n_items; ++item) pack_one(item, 0);
}

void multiply(const Kernels& kernels, ThreadPool& pool, const PackedMatrix& w, const Cut& c,
              const std::byte* x, int m, float* y, int64_t y_stride) {
  const int n_units = unit_count(w.type(), w.k());
  pool.parallel_for(int64_t{c.n_tiles} * c.n_parts, [&](int64_t item, int) {
    const int tile = static_cast<int>(item) / c.n_parts, part = static_cast<int>(item) % c.n_parts;
    const int row = first_of(tile, c.n_tiles, m);
    const int column = part * c.panels_each * kPanelLen;
    kernels.linear_block(
        {.type = w.type(),
         .weights = w.data() + int64_t{column / kStripLen} * n_units * unit_bytes(w.type()),
         .x = x + int64_t{row} * n_units * packed_unit_bytes(w.type()),
         .m = first_of(tile + 1, c.n_tiles, m) - row,
         .n = std::min(c.panels_each * kPanelLen, w.n() - column),
         .k = w.k(),
         .y = y + row * y_stride + column,
         .y_stride = y_stride});
  });
}

void product(const Kernels& kernels, ThreadPool& pool, const PackedMatrix& w, const float* x,
             int64_t x_stride, int m, float* y, int64_t y_stride, LinearScratch& scratch) {
  const Cut c = cut(w.type(), m, w.n(), w.k(), pool.n_threads());
  const size_t bytes = size_t{1} * m * unit_count(w.type(), w.k()) * packed_unit_bytes(w.type());
  if (scratch.activations.size() < bytes) scratch.activations = AlignedBuffer(bytes);
  pack(kernels, pool, w, c, x, x_stride, m, scratch.activations.data());
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
