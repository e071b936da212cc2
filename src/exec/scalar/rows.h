// Rows of f32 values, and the operations on one row that every part of a model uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "contract/model_spec.h"

namespace pando::exec::scalar {

struct Rows {
  Rows() = default;
  Rows(uint32_t n_rows, size_t row_width)
      : n(n_rows), width(row_width), values(n_rows * row_width) {}

  float* row(uint32_t r) { return values.data() + r * width; }
  const float* row(uint32_t r) const { return values.data() + r * width; }

  uint32_t n = 0;
  size_t width = 0;
  std::vector<float> values;  // [n, width]
};

// body(row) for every row, on the threads of the pool.
template <class Body>
void each_row(ThreadPool& pool, uint32_t n, const Body& body) {
  pool.parallel_for(n, [&](int64_t row, int) { body(static_cast<uint32_t>(row)); });
}

// x[i] += y[i]; both [n].
void add(float* x, const float* y, size_t n);
// x[i] *= factor; x: [n].
void scale(float* x, float factor, size_t n);

// y may be x; all [n].
void rms_norm(const float* x, const float* weight, float eps, int n, float* y);
void layer_norm(const float* x, const float* weight, float eps, int n, float* y);
// The model's norm of rows. weight: [d_model], with a bias [2 d_model], or empty: y is x then.
void norm_row(const model::ModelSpec& spec, std::span<const float> weight, const float* x,
              float* y);
Rows norm_rows(const model::ModelSpec& spec, std::span<const float> weight, const Rows& x,
               ThreadPool& pool);

}  // namespace pando::exec::scalar
