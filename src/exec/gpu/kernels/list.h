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
  X(few_integer_rows, 256)   \
  X(many_integer_rows, 256)  \
  X(few_nibbles, 256)        \
  X(many_nibbles, 256)       \
  X(few_fives, 256)          \
  X(many_fives, 256)         \
  X(few_sixes, 256)          \
  X(many_sixes, 256)         \
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
  X(row_norm, 128)           \
  X(row_bias, 128)           \
  X(row_scale, 128)          \
  X(row_gather, 128)         \
  X(row_activate, 128)       \
  X(row_logits, 128)         \
  X(row_greatest, 256)       \
  X(row_weighted, 128)       \
  X(row_gate, 128)           \
  X(row_gate_inputs, 128)    \
  /* heads.h */              \
  X(head_project, 64)        \
  X(head_gate, 128)          \
  /* pages.h */              \
  X(page_write_f32, 64)      \
  X(page_write_f16, 64)      \
  X(page_write_bf16, 64)     \
  X(page_write_int8, 64)     \
  X(page_copy_32, 64)        \
  X(page_copy_16, 64)        \
  X(page_copy_int8, 64)      \
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
