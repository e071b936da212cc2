// A matrix that a checkpoint stores as integers or 8-bit floats with scales:
//
//   weight = (integer - zero point) * scale, or float * scale
//
// The tensors of a matrix [n, k] with `bits` for each weight. A scale is shared by a block of rows
// and columns; there are G groups of columns, and R of rows. Words are I32, the first weight in the
// lowest bits.
//
//   elements   weight [n, k] I8 or F8_E4M3; weight_scale or weight_scale_inv [R, G];
//              weight_zero_point [R, G] I8; weight_g_idx [k] I32
//   words      weight_packed [n, k * bits / 32]; weight_scale [R, G];
//              weight_zero_point [n * bits / 32, G], or [R, G] I8; weight_g_idx [k] I32;
//              weight_shape [2] I64. Integers and zero points in words have 2^(bits - 1) added.
//   AWQ        qweight [k, n / 8]; scales [G, n]; qzeros [G, n / 8]. The outputs of a word stand in
//              the order 0, 2, 4, 6, 1, 3, 5, 7.
//   GPTQ       qweight [k * bits / 32, n]; scales [G, n]; qzeros [G, n * bits / 32]; g_idx [k] I32
//   blocks     blocks [experts, n, k / 32, 16] U8, of which a byte has two neighbouring weights,
//   the
//              first in its low bits; scales [experts, n, k / 32] U8, of 2^(scale - 127). A matrix
//              is that of one expert.
//
// Sizes that words divide are rounded up. Scales are F32, F16 or BF16. g_idx is the group of each
// column; without it groups are runs of columns.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/errors.h"
#include "model/quantization.h"
#include "model/row_order.h"
#include "model/safetensors.h"
#include "pando/values/result.h"

namespace pando::model {

// A tensor as its file stores it.
struct StoredTensor {
  TensorPlace where = {};              // for messages
  const TensorEntry* entry = nullptr;  // null: absent
  const std::byte* data = nullptr;
};

// All tensors of one matrix, by the last part of their names.
using StoredParts = std::map<std::string, StoredTensor, std::less<>>;

// True if a tensor with this last part of its name and this type holds the integers or floats.
bool has_quantized_weights(std::string_view part, std::string_view dtype);
// True for tensors beside them: their scales, or those of activations, which are not read.
bool belongs_to_quantized_weights(std::string_view part);

// Index of a matrix among several that are stored as one. n_stacked 0: it is stored alone.
struct StackPlace {
  int n_stacked = 0, index = 0;
};

// Refers to mapped files; immutable, any thread may read.
class QuantizedMatrix {
 public:
  // `where` names file and matrix. `columns`: the order of columns in the file. kBadFile where
  // tensors are missing or have other shapes than [n, k] and the schemes allow.
  static Result<std::shared_ptr<const QuantizedMatrix>> open(
      const TensorPlace& where, const StoredParts& parts, const Quantization& quantization,
      int64_t n, int64_t k, const RowOrder& columns, const StackPlace& place = {});

  // Type of the rows that make_rows() writes: q4_0, q5_0, q8_0 or mxfp4 if it holds the same
  // numbers and scales, otherwise f32.
  DType dtype() const { return dtype_; }
  // Type of the matrix in memory if it is kept as stored.
  DType kept() const { return dtype_ == DType::kF32 ? widened_ : dtype_; }
  // Type in memory if it cannot be kept so: the model's.
  DType widened() const { return widened_; }
  const StoredTensor& weights() const { return weights_; }
  size_t weight_bytes() const { return weight_bytes_; }

  // Rows [first, first + n_rows) of the file, with columns in the model's order.
  void make_rows(int64_t first, int64_t n_rows, std::byte* to) const;

 private:
  QuantizedMatrix() = default;
  Status take(const TensorPlace& where, const StoredParts& parts, bool zeros_less_one,
              const StackPlace& place);
  Status take_zeros();
  Status take_order(const StoredTensor& order, const RowOrder& columns);
  DType exact_type() const;

  bool is_transposed() const {
    return scheme_.layout == QuantizedLayout::kAwq || scheme_.layout == QuantizedLayout::kGptq;
  }
  int code_bits() const { return scheme_.layout == QuantizedLayout::kElements ? 8 : scheme_.bits; }
  void make_blocks(int64_t first, int64_t n_rows, std::byte* to) const;
  void read_codes(int64_t first, int64_t n_rows, uint8_t* to) const;
  float scale_of(int64_t row, int64_t group) const;
  int zero_of(int64_t row, int64_t group) const;
  bool has_zero_bytes() const { return zeros_.entry->dtype == "I8"; }
  int64_t block_row(int64_t row) const {
    return scheme_.block_rows == 0 ? 0 : row / scheme_.block_rows;
  }

  WeightScheme scheme_;
  DType dtype_ = DType::kF32, widened_ = DType::kBF16;
  int64_t n_ = 0, k_ = 0, n_groups_ = 0;
  size_t weight_bytes_ = 0;  // of weights_ that are this matrix's
  StoredTensor weights_, scales_, zeros_;
  uint32_t zeros_added_ = 0;      // to a word of zero points
  std::vector<int32_t> columns_;  // [k] where each lies in the file; empty: in order
  std::vector<int32_t> groups_;   // [k] of each column
};

}  // namespace pando::model
