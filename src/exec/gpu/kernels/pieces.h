// Functions of one value, and sums in sixteen lanes: docs/arithmetic.md, "Pieces". They give the
// bits of exec/scalar/math.h.
#pragma once

#include "exec/gpu/kernels/dialect.h"

#define LOG2_E 0x1.715476p+0f

// The sum of l[0] to l[15], each read by LANE(i).
#define SUM16(LANE)                                             \
  add(add(add(add(LANE(0), LANE(8)), add(LANE(4), LANE(12))),   \
          add(add(LANE(2), LANE(10)), add(LANE(6), LANE(14)))), \
      add(add(add(LANE(1), LANE(9)), add(LANE(5), LANE(13))),   \
          add(add(LANE(3), LANE(11)), add(LANE(7), LANE(15)))))
#define LANE_OF_ARRAY(i) l[i]
DEVICE float sum16_(const LOCAL float* l) { return SUM16(LANE_OF_ARRAY); }

DEVICE float exp2_(float x) {
  const float y = MINF(x, 127.0f);
  const float n = ROUND_EVEN(y), f = sub(y, n);
  float p = 0x1.430912p-13f;
  p = FMA(p, f, 0x1.5d87fep-10f);
  p = FMA(p, f, 0x1.3b2ab6p-7f);
  p = FMA(p, f, 0x1.c6b08ep-5f);
  p = FMA(p, f, 0x1.ebfbep-3f);
  p = FMA(p, f, 0x1.62e43p-1f);
  p = FMA(p, f, 1.0f);
  if (IS_NAN(x)) return x;
  if (x < -125.0f) return 0.0f;
  return F32_OF_BITS(BITS_OF_F32(p) + ((u32)TO_S32(n) << 23));
}

DEVICE float sigmoid_(float x) { return DIV(1.0f, add(1.0f, exp2_(mul(x, -LOG2_E)))); }
DEVICE float silu_(float x) { return DIV(x, add(1.0f, exp2_(mul(x, -LOG2_E)))); }

// GELU by tanh.
DEVICE float gelu_(float x) {
  const float p = FMA(mul(x, x), -0x1.a5a7dp-4f, -0x1.26aec2p+1f);
  return DIV(x, add(1.0f, exp2_(mul(x, p))));
}

DEVICE float gelu_erf_(float x) {
  const float size = ABSF(x), t = DIV(1.0f, FMA(size, 0x1.da671p-3f, 1.0f));
  float p = 0x1.0fb844p-1f;
  p = FMA(p, t, -0x1.7401c6p-1f);
  p = FMA(p, t, 0x1.6be1c6p-1f);
  p = FMA(p, t, -0x1.23531cp-3f);
  p = FMA(p, t, 0x1.04f20cp-3f);
  const float e = exp2_(mul(mul(x, x), -0x1.715476p-1f));
  return sub(MAXF(x, 0.0f), mul(size, mul(mul(p, t), e)));
}

DEVICE float clamped_swiglu_(float gate, float up, float alpha, float limit) {
  const float g = MINF(gate, limit), u = MAXF(MINF(up, limit), -limit);
  const float e = exp2_(mul(g, mul(alpha, -LOG2_E)));
  return mul(add(u, 1.0f), DIV(g, add(1.0f, e)));
}

// cap tanh(x / cap)
DEVICE float soft_cap_(float x, float cap) {
  const float e = exp2_(mul(DIV(ABSF(x), cap), -0x1.715476p+1f));
  const float y = mul(cap, DIV(sub(1.0f, e), add(1.0f, e)));
  return x < 0.0f ? sub(0.0f, y) : y;
}
