#include "model/tensor_loader.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/errors.h"
#include "kernel/blocks.h"
#include "model/tensor_rows.h"

namespace pando::model {
namespace {

constexpr int64_t kReleaseBytes = int64_t{4} << 20;

// Of rows [begin, end), those in the ranges, counted from `begin`.
std::vector<RowRange> within(std::span<const RowRange> ranges, int64_t begin, int64_t end) {
  std::vector<RowRange> own;
  for (const auto& [first, last] : ranges)
    if (const int64_t from = std::max<int64_t>(first, begin), to = std::min<int64_t>(last, end);
        from < to)
      own.emplace_back(static_cast<int>(from - begin), static_cast<int>(to - begin));
  return own;
}

int n_rows(std::span<const RowRange> ranges) {
  int n = 0;
  for (const auto& [begin, end] : ranges) n += end - begin;
  return n;
}

float value_of(Stored stored, float x) {
  switch (stored) {
    case Stored::kItself:
      break;
    case Stored::kOneLess:
      return 1.0f + x;
    case Stored::kLogDecay:
      return static_cast<float>(-std::exp(static_cast<double>(x)));
  }
  return x;
}

// Where each column of a row lies in the file; empty where they lie in order.
std::vector<size_t> columns_of(const TensorView& view) {
  std::vector<size_t> columns;
  for (int64_t i = 0; !view.columns.keeps() && i < view.shape[1]; ++i)
    columns.push_back(static_cast<size_t>(view.columns.stored(i)));
  return columns;
}

// The elements of a row in that order, in `out`. size: bytes of an element.
const std::byte* in_order(const std::vector<size_t>& columns, size_t size, const std::byte* from,
                          std::vector<std::byte>& out) {
  out.resize(columns.size() * size);
  for (size_t i = 0; i < columns.size(); ++i)
    std::memcpy(&out[i * size], from + columns[i] * size, size);
  return out.data();
}

}  // namespace

std::vector<WeightSpec> TensorLoader::stored_as(std::span<const WeightSpec> specs) const {
  std::vector<WeightSpec> stored;
  for (const WeightSpec& spec : specs)
    for (WeightSpec& tensor : checkpoint_.stored_as(spec)) stored.push_back(std::move(tensor));
  return stored;
}

Status TensorLoader::append(std::span<const WeightSpec> specs, std::vector<float>& out) const {
  std::vector<std::vector<float>> each(specs.size());  // [rows, taps]
  size_t n_taps = 1;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (Status status = read_vector(specs[i], each[i]); !status) return status;
    n_taps = std::max(n_taps, each[i].size() / static_cast<size_t>(specs[i].shape[0]));
  }
  for (size_t tap = 0; tap < n_taps; ++tap)
    for (const std::vector<float>& rows : each)
      for (size_t at = tap; at < rows.size(); at += n_taps) out.push_back(rows[at]);
  return {};
}

// All elements, row by row.
Status TensorLoader::read_vector(const WeightSpec& spec, std::vector<float>& out) const {
  const Result<TensorView> view = checkpoint_.tensor(spec);
  if (!view) return view.error();
  if (kernel::block_len(view->dtype) != 1)
    return unsupported("{}: tensor '{}' is a vector of {}, expected one of f32, f16 or bf16",
                       file(), spec.name, dtype_name(view->dtype));
  const int64_t n = spec.n_elements(), n_taps = n / spec.shape[0];
  std::vector<float> stored(n);
  kernel::read_weights(kernels_, view->dtype, view->data, n, stored.data());
  for (int64_t i = 0; i < spec.shape[0]; ++i)
    for (int64_t tap = 0; tap < n_taps; ++tap) {
      const int64_t at = view->rows.stored(i) * n_taps + tap;
      out.push_back(value_of(view->stored, stored[at]));
      if (!std::isfinite(stored[at]) || !std::isfinite(out.back()))
        return not_finite(spec.name, "element", at);
    }
  return {};
}

Status TensorLoader::stack(std::span<const WeightSpec> specs, std::span<const RowRange> ranges,
                           Stack& out) const {
  const int64_t k = specs[0].shape[1];
  int64_t n_above = 0;
  for (size_t i = 0; i < specs.size();) {
    std::vector<TensorView> views;           // of one type
    std::vector<std::vector<RowRange>> own;  // of each
    DType type = DType::kF32;
    int n = 0;
    for (size_t next = i; next < specs.size(); ++next) {
      Result<TensorView> view = checkpoint_.tensor(specs[next]);
      if (!view) return view.error();
      const DType packed = packed_type(specs[next], *view);
      if (views.empty()) type = packed;
      if (packed != type) break;
      views.push_back(std::move(*view));
      own.push_back(within(ranges, n_above, n_above + specs[next].shape[0]));
      n_above += specs[next].shape[0];
      n += n_rows(own.back());
    }
    if (n == 0) {
      i += views.size();
      continue;
    }
    if (Status status = check_inputs(specs[i].name, type, k); !status) return status;
    out.emplace_back(type, n, static_cast<int>(k));
    int row = 0;
    for (size_t j = 0; j < views.size(); ++j, ++i)
      for (const RowRange& range : own[j]) {
        if (Status status = pack(specs[i].name, views[j], range, out.back(), row); !status)
          return status;
        row += range.second - range.first;
      }
  }
  return {};
}

Status TensorLoader::matrix(const WeightSpec& spec, kernel::PackedMatrix& out) const {
  Stack one;
  const RowRange all = {0, static_cast<int>(spec.shape[0])};
  if (Status status = stack({&spec, 1}, {&all, 1}, one); !status) return status;
  out = std::move(one[0]);
  return {};
}

Status TensorLoader::heads(const WeightSpec& spec, const HeadRows& rows,
                           std::vector<kernel::PackedMatrix>& out) const {
  const Result<TensorView> view = checkpoint_.tensor(spec);
  if (!view) return view.error();
  const DType type = requantised_.value_or(kept_type(*view));
  if (Status status = check_inputs(spec.name, type, spec.shape[1]); !status) return status;
  for (int head = rows.heads.first; head < rows.heads.second; ++head) {
    const int first = head * rows.all + rows.first;
    out.emplace_back(type, rows.n, static_cast<int>(spec.shape[1]));
    if (Status status = pack(spec.name, *view, {first, first + rows.n}, out.back(), 0); !status)
      return status;
  }
  return {};
}

Status TensorLoader::turned_heads(const WeightSpec& spec, const HeadRows& rows,
                                  std::vector<kernel::PackedMatrix>& out) const {
  const Result<TensorView> view = checkpoint_.tensor(spec);
  if (!view) return view.error();
  const DType kept = kept_type(*view);
  const bool is_float = kept == DType::kF32 || kept == DType::kF16 || kept == DType::kBF16;
  const DType type = requantised_.value_or(is_float ? kept : DType::kQ8_0);
  const int64_t k = spec.shape[1];
  if (Status status = check_inputs(spec.name, type, rows.n); !status) return status;
  std::vector<float> own(k), turned(k * rows.n);
  for (int head = rows.heads.first; head < rows.heads.second; ++head) {
    const int64_t first = int64_t{head} * rows.all + rows.first;
    const auto turn = [&](int64_t row, const std::byte* from) -> Status {
      if (Status status = check_finite(spec.name, *view, row, from); !status) return status;
      kernel::read_weights(kernels_, view->dtype, from, k, own.data());
      for (int64_t i = 0; i < k; ++i) turned[i * rows.n + row - first] = own[i];
      return {};
    };
    if (Status status = each_row(*view, {first, first + rows.n}, turn); !status) return status;
    out.emplace_back(type, static_cast<int>(k), rows.n);
    if (!out.back().set_rows(kernels_, 0, static_cast<int>(k), DType::kF32, turned.data()))
      return too_large(spec.name, type, *view);
  }
  return {};
}

Result<TensorView> TensorLoader::table(const WeightSpec& spec) const {
  Result<TensorView> table = checkpoint_.tensor(spec.name, spec.shape);
  if (!table) return table;
  const auto check = [&](int64_t row, const std::byte* from) {
    return check_finite(spec.name, *table, row, from);
  };
  if (Status status = each_row(*table, {0, table->shape[0]}, check); !status) return status.error();
  return table;
}

DType TensorLoader::kept_type(const TensorView& view) const {
  if (!view.quantized) return kernel::info_of(view.dtype).packed;
  return widens_ ? view.quantized->widened() : view.quantized->kept();
}

// A router's small differences decide which experts a row has.
DType TensorLoader::packed_type(const WeightSpec& spec, const TensorView& view) const {
  if (spec.part == LayerPart(&LayerWeights::router)) return DType::kF32;
  return requantised_.value_or(kept_type(view));
}

Status TensorLoader::check_inputs(const std::string& name, DType type, int64_t k) const {
  if (k <= kernel::PackedMatrix::max_inputs(type)) return {};
  return unsupported("{}: tensor '{}' has rows of {}, expected at most {} for {} weights", file(),
                     name, k, kernel::PackedMatrix::max_inputs(type), dtype_name(type));
}

// Rows `range` of `view` to those of `out` from first_row on.
Status TensorLoader::pack(const std::string& name, const TensorView& view, RowRange range,
                          kernel::PackedMatrix& out, int first_row) const {
  const std::vector<size_t> columns = columns_of(view);
  std::vector<std::byte> ordered;
  return each_row(view, range, [&](int64_t row, const std::byte* from) -> Status {
    if (Status status = check_finite(name, view, row, from); !status) return status;
    if (!columns.empty()) from = in_order(columns, dtype_size(view.dtype), from, ordered);
    if (out.set_rows(kernels_, first_row + static_cast<int>(row) - range.first, 1, view.dtype,
                     from))
      return {};
    return too_large(name, out.type(), view);
  });
}

// Calls `read` with each row of the range and where it lies.
Status TensorLoader::each_row(const TensorView& view, std::pair<int64_t, int64_t> range,
                              FunctionRef<Status(int64_t, const std::byte*)> read) const {
  const int64_t n = range.second;
  TensorRows rows(view);
  const size_t row_bytes = rows.row_bytes();
  const int64_t rows_each = std::max<int64_t>(1, kReleaseBytes / static_cast<int64_t>(row_bytes));
  for (int64_t row = range.first; row < n;) {
    const int64_t begin = row;
    for (; row < std::min(n, begin + rows_each); ++row)
      if (Status status = read(row, rows[row]); !status) return status;
    // A pair of halves of a head may lie beyond: then it is read again, which changes nothing.
    if (view.quantized || view.transposed)  // all of it: a file may have rows side by side
      checkpoint_.release(view, 0, view.n_bytes);
    else
      checkpoint_.release(view, begin * row_bytes, (row - begin) * row_bytes);
  }
  return {};
}

Status TensorLoader::check_finite(const std::string& name, const TensorView& view, int64_t row,
                                  const std::byte* from) const {
  if (kernel::all_finite(view.dtype, from, view.shape[1])) return {};
  return not_finite(name, "row", row);
}

Error TensorLoader::not_finite(const std::string& name, const char* unit, int64_t index) const {
  return bad_file("{}: tensor '{}' holds NaN or infinity in {} {}, expected finite numbers", file(),
                  name, unit, index);
}

Error TensorLoader::too_large(const std::string& name, DType type, const TensorView& view) const {
  return unsupported(
      "{}: tensor '{}' has weights that are too large for {} (hint: load the weights as {})",
      file(), name, dtype_name(type), view.quantized ? "f32" : "stored");
}

}  // namespace pando::model
