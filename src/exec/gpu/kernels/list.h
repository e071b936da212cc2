// The kernels, each with the threads of a work group.
#pragma once

#define PANDO_GPU_KERNELS(X) \
  /* products.h */           \
  X(quantise_groups, 256)    \
  /* rows.h */               \
  /* heads.h */              \
  /* pages.h */              \
  /* attention.h */          \
  X(attend_f32_wide, 128)    \
  X(attend_f32_narrow, 128)  \
  X(attend_f16_wide, 128)    \
  X(attend_f16_narrow, 128)  \
  X(attend_bf16_wide, 128)   \
  X(attend_bf16_narrow, 128) \
  X(attend_int8_wide, 128)   \
  X(attend_int8_narrow, 128) \
  X(attend_merge, 64)
