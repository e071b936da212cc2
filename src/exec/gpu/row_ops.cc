#include "exec/gpu/row_ops.h"

#include "base/check.h"
#include "exec/gpu/kernels/codes.h"

namespace pando::exec::gpu {
namespace {

// The norm of the model's kind, or no norm.
int norm_code(const model::ModelSpec& spec, const Values& weight) {
  if (weight.empty()) return NORM_NONE;
  return spec.norm == model::Norm::kRms ? NORM_RMS : NORM_LAYER;
}

// The codes equal the enum's numbers.
static_assert(ACTIVATION_SQUARED_RELU == static_cast<int>(model::Activation::kSquaredRelu));
static_assert(ACTIVATION_UNGATED_GELU_TANH ==
              static_cast<int>(model::Activation::kUngatedGeluTanh));

}  // namespace

Groups parts_of_rows(uint32_t n, size_t width) {
  return {n, static_cast<uint32_t>((width + ROW_PART - 1) / ROW_PART)};
}

void norm_columns(Host& host, const NormCall& call, const Values& weight, const Rows& y, Rows& x) {
  const auto n = static_cast<int32_t>(call.n);
  const bool has_bias = weight.n > call.n;
  PANDO_CHECK(x.n == y.n && x.width == y.width && call.first + call.n <= x.width);
  PANDO_CHECK(weight.n == (call.norm == NORM_NONE ? 0 : has_bias ? 2 * call.n : call.n));
  const Arg args[] = {&y.values,
                      call.bias == nullptr ? nullptr : &call.bias->buffer,
                      &weight.buffer,
                      &x.values,
                      uint64_t{x.width},
                      static_cast<int32_t>(call.first),
                      n,
                      call.norm,
                      int32_t{has_bias},
                      call.mode,
                      call.eps,
                      call.factor};
  host.launch(Kernel::row_norm, {x.n}, args);
}

void norm_rows(Host& host, const model::ModelSpec& spec, const Values& weight, const Rows& x,
               Rows& y) {
  if (weight.empty() && &x == &y) return;
  if (&x != &y) y.resize(host, x.n, x.width);
  norm_columns(host, {.norm = norm_code(spec, weight), .eps = spec.rms_eps, .n = x.width}, weight,
               x, y);
}

void norm_rows_rms(Host& host, float eps, const Values& weight, const Rows& x, Rows& y) {
  if (&x != &y) y.resize(host, x.n, x.width);
  norm_columns(host, {.norm = NORM_RMS, .eps = eps, .n = x.width}, weight, x, y);
}

void add_part(Host& host, const model::ModelSpec& spec, const Values& bias, const Values& norm,
              const Rows& y, Rows& x) {
  const NormCall call{.norm = norm_code(spec, norm),
                      .mode = spec.post_norm ? NORM_AFTER_ADD : NORM_THEN_ADD,
                      .eps = spec.rms_eps,
                      .factor = spec.residual_scale,
                      .bias = &bias,
                      .n = x.width};
  PANDO_CHECK(bias.empty() || bias.n == x.width);
  norm_columns(host, call, norm, y, x);
}

void add_bias(Host& host, const Values& bias, Rows& x) {
  if (bias.empty()) return;
  PANDO_CHECK(bias.n <= x.width);
  const Arg args[] = {&bias.buffer, &x.values, uint64_t{x.width}, static_cast<int32_t>(bias.n)};
  host.launch(Kernel::row_bias, parts_of_rows(x.n, bias.n), args);
}

void scale_rows(Host& host, float factor, Rows& x) {
  const Arg args[] = {&x.values, static_cast<int32_t>(x.width), factor};
  host.launch(Kernel::row_scale, parts_of_rows(x.n, x.width), args);
}

void activate(Host& host, const model::ModelSpec& spec, const Values& bias, const Rows& inner,
              Rows& active) {
  PANDO_CHECK(bias.empty() || bias.n == inner.width);
  active.resize(host, inner.n, inner.width / spec.n_inner());
  const Arg args[] = {&inner.values,
                      &bias.buffer,
                      &active.values,
                      static_cast<int32_t>(active.width),
                      static_cast<int32_t>(spec.activation),
                      spec.activation_alpha,
                      spec.activation_limit};
  host.launch(Kernel::row_activate, parts_of_rows(active.n, active.width), args);
}

void gather_rows(Host& host, const Rows& x, const Buffer& rows, uint32_t n, Rows& out) {
  out.resize(host, n, x.width);
  const Arg args[] = {&x.values, &rows, &out.values, static_cast<int32_t>(x.width)};
  host.launch(Kernel::row_gather, parts_of_rows(n, x.width), args);
}

void finish_logits(Host& host, const model::ModelSpec& spec, const Values& bias, Rows& logits) {
  PANDO_CHECK(bias.empty() || bias.n == logits.width);
  const Arg args[] = {&bias.buffer,       &logits.values,   static_cast<int32_t>(logits.width),
                      spec.logit_divisor, spec.logit_scale, spec.logit_cap};
  host.launch(Kernel::row_logits, parts_of_rows(logits.n, logits.width), args);
}

void greatest(Host& host, const Rows& logits, Buffer& ids) {
  const size_t wanted = logits.n * sizeof(uint32_t);
  if (ids.bytes() < wanted) ids = Buffer(host, wanted);
  const Arg args[] = {&logits.values, &ids, static_cast<int32_t>(logits.width)};
  host.launch(Kernel::row_greatest, {logits.n}, args);
}

void add_weighted_rows(Host& host, const Rows& y, const Buffer& rows, const Buffer& weights,
                       const Values& bias, Rows& sums) {
  PANDO_CHECK(y.width == sums.width && (bias.empty() || bias.n == y.width));
  const Arg args[] = {&y.values,    &rows,        &weights,
                      &bias.buffer, &sums.values, static_cast<int32_t>(y.width)};
  host.launch(Kernel::row_weighted, parts_of_rows(y.n, y.width), args);
}

void scale_by_gate(Host& host, const Rows& h, const Values& gate, Rows& y) {
  PANDO_CHECK(h.n == y.n && gate.n == h.width);
  const Arg args[] = {&h.values, &gate.buffer, &y.values, static_cast<int32_t>(h.width),
                      static_cast<int32_t>(y.width)};
  host.launch(Kernel::row_gate, {y.n}, args);
}

void gate_inputs(Host& host, const Rows& inputs, size_t first, Rows& gates) {
  PANDO_CHECK(inputs.n == gates.n && first + gates.width <= inputs.width);
  const Arg args[] = {&gates.values, &inputs.values, static_cast<int32_t>(gates.width),
                      uint64_t{inputs.width}, uint64_t{first}};
  host.launch(Kernel::row_gate_inputs, parts_of_rows(gates.n, gates.width), args);
}

}  // namespace pando::exec::gpu
