// The kernels, each with the threads of a work group.
#pragma once

#define PANDO_GPU_KERNELS(X) \
  /* products.h */           \
  X(quantise_groups, 256)    \
  /* rows.h */               \
  /* heads.h */              \
  /* pages.h */              \
  /* attention.h */
