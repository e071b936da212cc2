// The kernels, each with the threads of a work group.
#pragma once

#define PANDO_GPU_KERNELS(X) \
  /* quantise.h */           \
  X(quantise_groups, 256)    \
  X(quantise_rows, 256)      \
  X(round_for_dot, 256)      \
  /* many_products.h */      \
  X(few_bytes, 256)          \
  X(many_bytes, 256)         \
  X(few_halves, 256)         \
  X(many_halves, 256)        \
  X(few_integer_rows, 256)   \
  X(many_integer_rows, 256)  \
  X(few_nibbles, 256)        \
  X(many_nibbles, 256)       \
  X(few_table, 256)          \
  X(many_table, 256)         \
  /* value_products.h */     \
  X(few_f32, 256)            \
  X(many_f32, 256)           \
  X(few_f16, 256)            \
  X(many_f16, 256)           \
  X(few_bf16, 256)           \
  X(many_bf16, 256)          \
  X(few_dot, 256)            \
  X(many_dot, 256)           \
  /* rows.h */               \
  /* heads.h */              \
  /* pages.h */              \
  /* attention.h */
