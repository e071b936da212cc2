// A tensor as a file holds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/dtype.h"
#include "model/row_order.h"

namespace pando::model {

// Meaning of a number in a file.
enum class Stored {
  kItself,
  kOneLess,   // a norm's w of 1 + w
  kLogDecay,  // A_log of -exp(A_log)
};

class QuantizedMatrix;

// Valid as long as the Checkpoint that gave it.
struct TensorView {
  DType dtype = DType::kF32;   // any but int8
  std::vector<int64_t> shape;  // outer to inner
  // Row-major elements, at any byte, or rows of whole blocks (base/numbers/blocks.h).
  const std::byte* data = nullptr;
  size_t n_bytes = 0;
  RowOrder rows = {};
  RowOrder columns = {};    // of a matrix of f32, f16 or bf16
  bool transposed = false;  // of f32, f16 or bf16: the file has its columns one after another
  Stored stored = Stored::kItself;
  // Set if rows of `dtype` are made from integers or 8-bit floats, which `data` then holds.
  // TensorRows reads both kinds.
  std::shared_ptr<const QuantizedMatrix> quantized = {};
};

}  // namespace pando::model
