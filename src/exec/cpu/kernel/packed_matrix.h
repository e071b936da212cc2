// Weights of a matrix product, as the kernels read them.
#pragma once

#include <cstddef>

#include "base/aligned_buffer.h"
#include "base/dtype.h"
#include "exec/cpu/kernel/kernels.h"

namespace pando::kernel {

// The type that a matrix is packed as if it is kept as files of this type hold it: the type itself,
// that of its codes, or q8_0.
DType packed_type(DType stored);

// Weights of a linear layer, [n, k], repacked for the kernels (cpu/linear_layout.h).
// Built once, then read by any thread.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  // All-zero weights of `type`, one that is packed (packed_type). k must be even, of
  // types that are only read from blocks whole blocks, and for int8 at most max_inputs(type).
  PackedMatrix(DType type, int n, int k);
  static int max_inputs(DType type);

  // Fills rows [first_row, first_row + n_rows) from row-major [n_rows, k] elements of `from_type`.
  // Either these elements become the matrix's type without rounding, or the matrix is of a type
  // that can be made, and rows of another type are rounded. from_type: any but int8 and bf16_dot;
  // for a type in blocks (base/numbers/blocks.h) k must be whole blocks. Threads may fill different
  // rows at once. Returns false if a weight to be rounded is not finite, or too large for the
  // matrix's type.
  bool set_rows(const Kernels& kernels, int first_row, int n_rows, DType from_type,
                const void* from);

  DType type() const { return type_; }
  int n() const { return n_; }
  int k() const { return k_; }
  size_t bytes() const { return data_.size(); }
  const std::byte* data() const { return data_.data(); }

 private:
  DType type_ = DType::kF32;
  int n_ = 0;
  int k_ = 0;
  AlignedBuffer data_;
};

}  // namespace pando::kernel
