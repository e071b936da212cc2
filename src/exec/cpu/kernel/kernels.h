// The operations that differ by instruction set, as one table of functions. All tables give the
// same bits (docs/arithmetic.md); they differ in speed only.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/dtype.h"

namespace pando::kernel {

enum class Isa {
  kPortable,
  // 64-bit ARM
  kNeon,
  kDotProd,
  kI8mm,
  // x86-64
  kAvx2,
  kAvxVnni,
  kAvx512,
  kAvx512Bf16,
  kAmx
};
// The instruction sets of the processors that this program is for, the slowest first.
#if defined(__aarch64__)
inline constexpr Isa kIsas[] = {Isa::kPortable, Isa::kNeon, Isa::kDotProd, Isa::kI8mm};
#else
inline constexpr Isa kIsas[] = {Isa::kPortable, Isa::kAvx2,       Isa::kAvxVnni,
                                Isa::kAvx512,   Isa::kAvx512Bf16, Isa::kAmx};
#endif

struct AttendTileArgs;   // exec/cpu/kernel/cpu/attend_args.h
struct MergeSpansArgs;   // exec/cpu/kernel/cpu/attend_args.h
struct ConvolveArgs;     // exec/cpu/kernel/cpu/recurrence_args.h
struct RecurrenceArgs;   // exec/cpu/kernel/cpu/recurrence_args.h
struct LinearBlockArgs;  // exec/cpu/kernel/cpu/linear_block.h
struct PackRowArgs;      // exec/cpu/kernel/cpu/linear_block.h
struct QuantizedRow;     // exec/cpu/kernel/cpu/linear_layout.h

struct Kernels {
  Isa isa;
  std::string_view name;  // as PANDO_ISA has it

  // --- row-local operations -----------------------------------------------------------------
  // y[i] = x[i] / rms(x) * weight[i]; x, weight, y: [n] f32; y may be x.
  void (*rms_norm)(const float* x, const float* weight, float eps, int n, float* y);
  // LayerNorm: the same of x less its mean.
  void (*layer_norm)(const float* x, const float* weight, float eps, int n, float* y);
  // Rotates the first n channels of a head in place. x: [n]; cos, sin: [n / 2].
  void (*rope)(float* x, const float* cos, const float* sin, int n);
  // out[i] = silu(gate[i]) * up[i]; all [n]; out may be gate or up.
  void (*swiglu)(const float* gate, const float* up, int n, float* out);
  // Does the same with GELU, approximated by tanh.
  void (*geglu)(const float* gate, const float* up, int n, float* out);
  // out[i] = GELU of x[i], approximated by tanh, and by erf; both [n]; out may be x.
  void (*gelu)(const float* x, int n, float* out);
  void (*gelu_erf)(const float* x, int n, float* out);
  // out[i] = (1 + u) g sigmoid(alpha g), with g = min(gate[i], limit) and u = up[i], clamped to
  // [-limit, limit]; all [n]; out may be gate or up.
  void (*clamped_swiglu)(const float* gate, const float* up, float alpha, float limit, int n,
                         float* out);
  // x[i] *= sigmoid(gate[i]); both [n].
  void (*gate)(float* x, const float* gate, int n);
  // out[i] = sigmoid(x[i]); both [n].
  void (*sigmoids)(const float* x, int n, float* out);
  // x[i] becomes exp(x[i]) / (sum of exp(x)); x: [n], n above 0.
  void (*softmax)(float* x, int n);
  // step[i] = softplus(x[i] + bias[i]), alpha[i] = exp(rate[i] * step[i]); all [n]; step
  // may be x.
  void (*decay)(const float* x, const float* bias, const float* rate, int n, float* step,
                float* alpha);
  // sum16 of x[i] * y[i]; both [n].
  float (*dot)(const float* x, const float* y, int n);
  // x[i] *= factor / sqrt(dot(x, x) + eps); x: [n].
  void (*l2_norm)(float* x, float eps, float factor, int n);
  // x[i] *= y[i]; both [n].
  void (*multiply)(float* x, const float* y, int n);
  // x[i] += y[i]; both [n].
  void (*add)(float* x, const float* y, int n);
  // out[i] = x[i] * factor; both [n]; out may be x.
  void (*scale)(const float* x, float factor, int n, float* out);
  // x[i] becomes cap * tanh(x[i] / cap); x: [n].
  void (*soft_cap)(float* x, float cap, int n);
  // As one group of integers with its scale (docs/arithmetic.md, int8). x: [n] f32; out: [n rounded
  // up to sixteen] s8.
  QuantizedRow (*quantize)(const float* x, int n, int8_t* out);
  // n elements of type f32, f16 or bf16 to f32.
  void (*widen)(DType type, const void* from, int64_t n, float* to);
  // n f32 values to a KV type (f32, f16 saturating, bf16).
  void (*narrow_kv)(DType type, const float* from, int n, void* to);

  // --- matrix products: exec/cpu/kernel/linear.h drives these
  // -----------------------------------------
  void (*linear_block)(const LinearBlockArgs& args);
  // A row of activations to the form that linear_block reads; quantised for weights in integers.
  void (*pack_row)(const PackRowArgs& args);

  // --- attention: exec/cpu/kernel/attention.h drives these
  // --------------------------------------------
  void (*attend_tile)(const AttendTileArgs& args);
  void (*merge_spans)(const MergeSpansArgs& args);
  // Factor on a weighted sum of values where a sink takes part of the weight. max, sum: state of
  // all spans; sink: its score. Scores are base 2.
  float (*sink_factor)(float max, float sum, float sink);

  // --- recurrent layers: exec/cpu/layers/recurrent_layer.h drives these
  // ------------------------------
  void (*convolve)(const ConvolveArgs& args);
  // One slice of one head's state, over rows.
  void (*delta_net)(const RecurrenceArgs& args);
  void (*mamba2)(const RecurrenceArgs& args);
};

// The table for one instruction set, or null if this machine or build does not have it.
const Kernels* kernels_for(Isa isa);
// The fastest table that this machine can run.
const Kernels& best_kernels();

// True if attention of n_queries query rows over a 16-bit tile should widen it once for all of
// them, rather than in registers for every block of rows. The bits are the same. Among AMD
// processors only a Zen 5 was measured, which widens beside multiply-adds (AVX-512 and AVX2; 32
// rows: 74 against 56% of the peak); the others are assumed to use the same pipes for it.
bool widens_once(int n_queries);

// True if products of few rows, which wait for weights from memory, should fetch them by
// instructions rather than rely on the processor. The bits are the same. An Intel processor with
// AMX reads 32 GB/s on two threads; products of q8_0 with one and four rows reach 29.8 and 27.8
// instead of 24.8 and 18.1 GB/s, of bf16 30.0 and 26.6 instead of 27.2 and 20.5, and of q8_0 with
// one row and AVX2 28.4 instead of 20.0. AMD's Zen 3 gains only with quantized weights (two
// threads, one answer of a model of 0.6B, tokens/s: q4_K 42 instead of 32, q6_K 30 instead of 21,
// q8_0 24 instead of 18, int8 28 instead of 22; bf16 14 either way, f32 6.4 instead of 7.3). For
// other AMD processors, FloatBlock and GroupedBlock decide by type and rows. Older ones and other
// makers' were not measured.
bool fetches_few_rows(DType weights);

}  // namespace pando::kernel
