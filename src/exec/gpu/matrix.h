// A weight matrix in the memory of a device, laid out for the product kernels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "exec/gpu/host.h"
#include "exec/scalar/matrix.h"

namespace pando::exec::gpu {

// Layouts of weights; each has two kernels in kernels/list.h. products.h and value_products.h
// describe the layouts.
enum class WeightForm {
  kBytes,
  kIntegerRows,
  kNibbles,
  kFives,
  kSixes,
  kTable,
  kF32,
  kF16,
  kBF16,
  kDot
};

// A matrix with n rows (outputs) and k columns (inputs).
class Matrix {
 public:
  static Matrix pack(Host& host, const scalar::Matrix& from);

  DType type() const { return type_; }
  int n() const { return n_; }
  int k() const { return k_; }
  size_t bytes() const {
    return words_.bytes() + high_.bytes() + scales_.bytes() + minima_.bytes() + factors_.bytes();
  }

  WeightForm form() const { return form_; }
  const Buffer& words() const { return words_; }
  const Buffer& high() const { return high_; }        // the fifth and sixth bits, or empty
  const Buffer& scales() const { return scales_; }    // f16, or f32 if some scale is not an f16
  const Buffer& minima() const { return minima_; }    // likewise, or empty
  const Buffer& factors() const { return factors_; }  // two signed bytes each, or empty
  bool scales_are_f16() const { return scales_are_f16_; }
  const std::array<uint32_t, 4>& table() const { return table_; }

 private:
  DType type_ = DType::kF32;
  int n_ = 0, k_ = 0;
  WeightForm form_ = WeightForm::kF32;
  Buffer words_, high_, scales_, minima_, factors_;
  bool scales_are_f16_ = false;
  std::array<uint32_t, 4> table_ = {};
};

// Matrices with equal inputs. Their outputs are joined, one matrix after another.
using Stack = std::vector<Matrix>;

}  // namespace pando::exec::gpu
