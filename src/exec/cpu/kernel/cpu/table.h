// Fills a `Kernels` table from the templates for one instruction set.
#pragma once

#include "exec/cpu/kernel/cpu/attend.h"
#include "exec/cpu/kernel/cpu/linear_block.h"
#include "exec/cpu/kernel/cpu/recurrence.h"
#include "exec/cpu/kernel/cpu/row_ops.h"
#include "exec/cpu/kernel/kernels.h"

namespace pando::kernel {

template <class S>
constexpr Kernels make_table(Isa isa, const char* name) {
  return Kernels{
      .isa = isa,
      .name = name,
      .rms_norm = RowOps<S>::rms_norm,
      .layer_norm = RowOps<S>::layer_norm,
      .rope = RowOps<S>::rope,
      .swiglu = RowOps<S>::swiglu,
      .geglu = RowOps<S>::geglu,
      .gelu = RowOps<S>::gelu_of_all,
      .gelu_erf = RowOps<S>::gelu_erf_of_all,
      .clamped_swiglu = RowOps<S>::clamped_swiglu,
      .gate = RowOps<S>::gate,
      .sigmoids = RowOps<S>::sigmoids,
      .softmax = RowOps<S>::softmax,
      .decay = RowOps<S>::decay,
      .dot = RowOps<S>::dot,
      .l2_norm = RowOps<S>::l2_norm,
      .multiply = RowOps<S>::multiply,
      .add = RowOps<S>::add,
      .scale = RowOps<S>::scale,
      .soft_cap = RowOps<S>::soft_cap,
      .quantize = RowOps<S>::quantize,
      .widen = RowOps<S>::widen,
      .narrow_kv = RowOps<S>::narrow_kv,
      .linear_block = LinearBlock<S>::run,
      .pack_row = LinearBlock<S>::pack_row,
      .attend_tile = Attend<S>::attend_tile,
      .merge_spans = Attend<S>::merge_spans,
      .sink_factor = Attend<S>::sink_factor,
      .convolve = Convolution<S>::convolve,
      .delta_net = Recurrence<S>::delta_net,
      .mamba2 = Recurrence<S>::mamba2,
  };
}

}  // namespace pando::kernel
