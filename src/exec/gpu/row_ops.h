// Operations on rows: norms, residuals, activations, logits. Each does what the function of the
// same name in exec/scalar does, with the same bits.
#pragma once

#include <cstdint>

#include "contract/model_spec.h"
#include "exec/gpu/host.h"
#include "exec/gpu/rows.h"
#include "exec/gpu/values.h"

namespace pando::exec::gpu {

// The work groups of kernels that have a part of a row each.
Groups parts_of_rows(uint32_t n, size_t width);

// A norm of columns of rows, by the codes of kernels/codes.h.
struct NormCall {
  int32_t norm = 0;
  int32_t mode = 0;
  float eps = 0.0f;
  float factor = 1.0f;           // of y where it is added
  const Values* bias = nullptr;  // of y: [n]; or empty
  size_t first = 0, n = 0;       // columns
};
// Columns of x, by the mode. weight: [n], with a bias [2 n]. y may be x.
void norm_columns(Host& host, const NormCall& call, const Values& weight, const Rows& y, Rows& x);

// y becomes the model's norm of rows. weight: [d_model], with a bias [2 d_model], or empty: y is x
// then. y may be x.
void norm_rows(Host& host, const model::ModelSpec& spec, const Values& weight, const Rows& x,
               Rows& y);
// y becomes the RMSNorm of rows. weight: [width of x]. y may be x.
void norm_rows_rms(Host& host, float eps, const Values& weight, const Rows& x, Rows& y);

// x += y, as the model adds what a part of a layer yields. bias, norm: may be empty. y stays.
void add_part(Host& host, const model::ModelSpec& spec, const Values& bias, const Values& norm,
              const Rows& y, Rows& x);

// x += bias. bias: at most as wide as x; empty: x stays.
void add_bias(Host& host, const Values& bias, Rows& x);
void scale_rows(Host& host, float factor, Rows& x);

// inner: [n, n_inner * d_ff]; active becomes [n, d_ff]. bias: as wide as inner, or empty.
void activate(Host& host, const model::ModelSpec& spec, const Values& bias, const Rows& inner,
              Rows& active);

// out becomes rows[0 .. n) of x. rows: [n] u32.
void gather_rows(Host& host, const Rows& x, const Buffer& rows, uint32_t n, Rows& out);

// Products with the head become logits. bias: [vocab], or empty.
void finish_logits(Host& host, const model::ModelSpec& spec, const Values& bias, Rows& logits);

// The largest logit of each row, and the lowest id that has it; id 0 and -inf if all are NaN.
// ids: [logits.n] u32; values: [logits.n] f32. Both become large enough.
void greatest(Host& host, const Rows& logits, Buffer& ids, Buffer& values);

// sums[rows[i]] += (y[i] + bias) * weights[i]. rows: [y.n] u32, no two equal; weights: [y.n] f32;
// bias: may be empty.
void add_weighted_rows(Host& host, const Rows& y, const Buffer& rows, const Buffer& weights,
                       const Values& bias, Rows& sums);

// gates becomes gelu(gates) times as many columns of inputs, from column `first` on.
void gate_inputs(Host& host, const Rows& inputs, size_t first, Rows& gates);

// y *= sigmoid(sum16(h gate)), row by row. gate: [width of h].
void scale_by_gate(Host& host, const Rows& h, const Values& gate, Rows& y);

}  // namespace pando::exec::gpu
