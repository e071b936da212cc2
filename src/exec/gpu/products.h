// Matrix products on a device, with the bits of exec/scalar/matrix.h.
#pragma once

#include <cstdint>
#include <span>

#include "exec/gpu/host.h"
#include "exec/gpu/matrix.h"
#include "exec/gpu/rows.h"

namespace pando::exec::gpu {

// Owns buffers for inputs that are converted to the types of the kernels.
class Products {
 public:
  explicit Products(Host& host) : host_(host) {}

  // y becomes [x.n, outputs of all matrices]. x: [x.n, k]; all matrices have this k.
  void multiply(std::span<const Matrix> stack, const Rows& x, Rows& y);

 private:
  // Inputs as integers. q: eight words for each group of 32. scales: f32. sums: for each group, its
  // scale times the sum of its integers.
  struct Integers {
    Buffer q, scales, sums;
    bool are_made = false;  // valid in this call
  };

  const Integers& groups(const Rows& x);
  const Integers& integer_rows(const Rows& x);
  const Buffer& rounded(const Rows& x);  // to bf16
  void multiply_groups(const Matrix& matrix, const Rows& x, Rows& y, size_t first);
  void multiply_values(const Matrix& matrix, const Rows& x, Rows& y, size_t first);

  Host& host_;
  Integers groups_, integer_rows_;
  Buffer rounded_;
  bool is_rounded_ = false;
};

}  // namespace pando::exec::gpu
