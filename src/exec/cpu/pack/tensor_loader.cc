#include "exec/cpu/pack/tensor_loader.h"

#include <algorithm>

#include "base/errors.h"
#include "base/numbers/weight_types.h"
#include "exec/cpu/kernel/read_weights.h"

namespace pando::exec {
namespace {

using model::Tensor;

// The rows of [begin, end) that are in the ranges, counted from `begin`.
std::vector<WeightRows> within(std::span<const WeightRows> ranges, int64_t begin, int64_t end) {
  std::vector<WeightRows> own;
  for (const auto& [first, last] : ranges)
    if (const int64_t from = std::max<int64_t>(first, begin), to = std::min<int64_t>(last, end);
        from < to)
      own.emplace_back(static_cast<int>(from - begin), static_cast<int>(to - begin));
  return own;
}

int n_rows(std::span<const WeightRows> ranges) {
  int n = 0;
  for (const auto& [begin, end] : ranges) n += end - begin;
  return n;
}

}  // namespace

Result<std::vector<float>> TensorLoader::values(const model::Tensors& tensors) const {
  std::vector<std::vector<float>> each;  // [rows, taps]
  size_t n_taps = 1;
  for (const auto& tensor : tensors) {
    Result<std::vector<float>> values = tensor->values();
    if (!values) return values.error();
    n_taps = std::max(n_taps, values->size() / static_cast<size_t>(tensor->shape[0]));
    each.push_back(std::move(*values));
  }
  std::vector<float> all;
  for (size_t tap = 0; tap < n_taps; ++tap)
    for (const std::vector<float>& rows : each)
      for (size_t at = tap; at < rows.size(); at += n_taps) all.push_back(rows[at]);
  return all;
}

Status TensorLoader::stack(const model::Tensors& tensors, std::span<const WeightRows> ranges,
                           bool is_router, Stack& out) const {
  const int64_t k = tensors[0]->shape[1];
  int64_t n_above = 0;
  for (size_t i = 0; i < tensors.size();) {
    std::vector<std::vector<WeightRows>> own;  // of each tensor of one type
    DType type = DType::kF32;
    int n = 0;
    for (size_t next = i; next < tensors.size(); ++next) {
      const Tensor& tensor = *tensors[next];
      // A router's small differences decide which experts a row has.
      const DType packed = is_router ? DType::kF32 : requantised_.value_or(kept_type(tensor));
      if (own.empty()) type = packed;
      if (packed != type) break;
      own.push_back(within(ranges, n_above, n_above + tensor.shape[0]));
      n_above += tensor.shape[0];
      n += n_rows(own.back());
    }
    if (n == 0) {
      i += own.size();
      continue;
    }
    if (Status status = check_inputs(*tensors[i], type, k); !status) return status;
    out.emplace_back(type, n, static_cast<int>(k));
    int row = 0;
    for (size_t j = 0; j < own.size(); ++j, ++i)
      for (const WeightRows& range : own[j]) {
        if (Status status = pack(*tensors[i], range, out.back(), row); !status) return status;
        row += range.second - range.first;
      }
  }
  return {};
}

Status TensorLoader::heads(const Tensor& tensor, const HeadRows& rows,
                           std::vector<kernel::PackedMatrix>& out) const {
  const DType type = requantised_.value_or(kept_type(tensor));
  if (Status status = check_inputs(tensor, type, tensor.shape[1]); !status) return status;
  for (int head = rows.heads.first; head < rows.heads.second; ++head) {
    const int first = head * rows.all + rows.first;
    out.emplace_back(type, rows.n, static_cast<int>(tensor.shape[1]));
    if (Status status = pack(tensor, {first, first + rows.n}, out.back(), 0); !status)
      return status;
  }
  return {};
}

Status TensorLoader::turned_heads(const Tensor& tensor, const HeadRows& rows,
                                  std::vector<kernel::PackedMatrix>& out) const {
  const DType kept = kept_type(tensor);
  const bool is_float = kept == DType::kF32 || kept == DType::kF16 || kept == DType::kBF16;
  const DType type = requantised_.value_or(is_float ? kept : DType::kQ8_0);
  const int64_t k = tensor.shape[1];
  if (Status status = check_inputs(tensor, type, rows.n); !status) return status;
  std::vector<float> own(k), turned(k * rows.n);
  for (int head = rows.heads.first; head < rows.heads.second; ++head) {
    const int64_t first = int64_t{head} * rows.all + rows.first;
    const auto turn = [&](int64_t row, const std::byte* from) -> Status {
      kernel::read_weights(kernels_, tensor.type, from, k, own.data());
      for (int64_t i = 0; i < k; ++i) turned[i * rows.n + row - first] = own[i];
      return {};
    };
    if (Status status = tensor.each_row(first, first + rows.n, turn); !status) return status;
    out.emplace_back(type, static_cast<int>(k), rows.n);
    if (!out.back().set_rows(kernels_, 0, static_cast<int>(k), DType::kF32, turned.data()))
      return too_large(tensor, type);
  }
  return {};
}

DType TensorLoader::kept_type(const Tensor& tensor) const { return kept_as(tensor, widens_); }

Status TensorLoader::check_inputs(const Tensor& tensor, DType type, int64_t k) const {
  if (k <= kernel::PackedMatrix::max_inputs(type)) return {};
  return in_file(source_.file(),
                 of_tensor(tensor.name,
                           unsupported("has rows of {}, expected at most {} for {} weights", k,
                                       kernel::PackedMatrix::max_inputs(type), dtype_name(type))));
}

// Rows `range` of the tensor to those of `out` from first_row on.
Status TensorLoader::pack(const Tensor& tensor, WeightRows range, kernel::PackedMatrix& out,
                          int first_row) const {
  return tensor.each_row(
      range.first, range.second, [&](int64_t row, const std::byte* from) -> Status {
        if (out.set_rows(kernels_, first_row + static_cast<int>(row) - range.first, 1, tensor.type,
                         from))
          return {};
        return too_large(tensor, out.type());
      });
}

Error TensorLoader::too_large(const Tensor& tensor, DType type) const {
  return in_file(source_.file(),
                 of_tensor(tensor.name,
                           unsupported("has weights that are too large for {}", dtype_name(type))));
}

DType kept_as(const Tensor& tensor, bool widens) {
  if (!tensor.widened) return kernel::packed_type(tensor.type);
  return widens || tensor.type == DType::kF32 ? *tensor.widened : tensor.type;
}

}  // namespace pando::exec
