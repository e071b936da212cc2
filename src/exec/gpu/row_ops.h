// Operations on rows: norms, residuals, activations, logits. Each gives the bits of the function
// with this name in exec/scalar.
#pragma once

#include <cstdint>

#include "contract/model_spec.h"
#include "exec/gpu/host.h"
#include "exec/gpu/rows.h"
#include "exec/gpu/values.h"

namespace pando::exec::gpu {

// The work groups of a kernel whose groups each take a part of a row.
Groups parts_of_rows(uint32_t n, size_t width);

// A norm over columns of rows. norm and mode: codes of kernels/codes.h.
struct NormCall {
  int32_t norm = 0;
  int32_t mode = 0;
  float eps = 0.0f;
  float factor = 1.0f;           // of y, if it is added
  const Values* bias = nullptr;  // of y: [n], empty or null
  size_t first = 0, n = 0;       // columns
};
// Writes columns of x, by the mode. weight: [n], with a bias [2 n]. y may be x.
void norm_columns(Host& host, const NormCall& call, const Values& weight, const Rows& y, Rows& x);

// y becomes the model's norm of x. weight: [d_model], with a bias [2 d_model]. If weight is empty,
// y becomes x. y may be x.
void norm_rows(Host& host, const model::ModelSpec& spec, const Values& weight, const Rows& x,
               Rows& y);
// y becomes the RMSNorm of x. weight: [width of x]. y may be x.
void norm_rows_rms(Host& host, float eps, const Values& weight, const Rows& x, Rows& y);

// Adds y, the result of a part of a layer, to x as the model does. bias and norm may be empty.
void add_part(Host& host, const model::ModelSpec& spec, const Values& bias, const Values& norm,
              const Rows& y, Rows& x);

// x += bias. bias: at most as wide as x. An empty bias changes nothing.
void add_bias(Host& host, const Values& bias, Rows& x);
void scale_rows(Host& host, float factor, Rows& x);

// active becomes [n, d_ff]. inner: [n, n_inner * d_ff]. bias: as wide as inner, or empty.
void activate(Host& host, const model::ModelSpec& spec, const Values& bias, const Rows& inner,
              Rows& active);

// Row i of out becomes row rows[i] of x, for i below n. rows: [n] u32.
void gather_rows(Host& host, const Rows& x, const Buffer& rows, uint32_t n, Rows& out);

// Turns products with the LM head into logits. bias: [vocab], or empty.
void finish_logits(Host& host, const model::ModelSpec& spec, const Values& bias, Rows& logits);

// Finds the lowest id of each row's largest logit, as Executor::logits_or_largest says. ids:
// [logits.n] u32, enlarged if needed.
void greatest(Host& host, const Rows& logits, Buffer& ids);

// sums[rows[i]] += (y[i] + bias) * weights[i]. rows: [y.n] u32, no two equal. weights: [y.n] f32.
// bias may be empty.
void add_weighted_rows(Host& host, const Rows& y, const Buffer& rows, const Buffer& weights,
                       const Values& bias, Rows& sums);

// gates = gelu(gates) * columns of inputs, from column `first` on.
void gate_inputs(Host& host, const Rows& inputs, size_t first, Rows& gates);

// y *= sigmoid(sum16(h gate)), row by row. gate: [width of h].
void scale_by_gate(Host& host, const Rows& h, const Values& gate, Rows& y);

}  // namespace pando::exec::gpu
