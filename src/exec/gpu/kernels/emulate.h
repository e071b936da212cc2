// The dialect in C++. A work group runs on one thread of the CPU (exec/gpu/work_group.h).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/half.h"
#include "exec/gpu/work_group.h"

using u8 = uint8_t;
using s8 = int8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using s32 = int32_t;
using u64 = uint64_t;
struct alignas(16) u32x4 {
  u32 x, y, z, w;
};

namespace pando::exec::gpu {

// The instruction itself, because std::fma is a function call in code for every x86-64 processor.
#if defined(__x86_64__)
inline const bool kHasFma = __builtin_cpu_supports("fma") != 0;
inline float fused(float a, float b, float c) {
  if (!kHasFma) return std::fma(a, b, c);
  asm("vfmadd231ss %2, %1, %0" : "+x"(c) : "x"(a), "x"(b));
  return c;
}
#else
inline float fused(float a, float b, float c) { return std::fma(a, b, c); }
#endif

}  // namespace pando::exec::gpu

// Barriers are numbered in the order of the source.
inline constexpr int kFirstBarrier = __COUNTER__ + 1;

#define KERNEL(threads) [[gnu::always_inline]] static inline
#define DEVICE [[maybe_unused, gnu::always_inline]] static inline
#define GLOBAL
#define LOCAL
#define SHARED(type, name, dimensions)      \
  static thread_local type name dimensions; \
  pando::exec::gpu::use_shared(&name, sizeof name)
#define THREAD (pando::exec::gpu::place.thread)
#define GROUP(d) (pando::exec::gpu::place.group[d])
#define BARRIER() pando::exec::gpu::meet_at_barrier(__COUNTER__ - kFirstBarrier, __LINE__)
#define UNROLL
#define FMA(a, b, c) pando::exec::gpu::fused(a, b, c)
#define F32_OF_BITS(x) std::bit_cast<float>(static_cast<u32>(x))
#define BITS_OF_F32(x) std::bit_cast<u32>(static_cast<float>(x))
#define DIV(a, b) (static_cast<float>(a) / static_cast<float>(b))
#define SQRT(x) __builtin_sqrtf(x)
#define ABSF(x) __builtin_fabsf(x)
#define ROUND_EVEN(x) __builtin_rintf(x)

DEVICE float widen_f16(u16 x) { return pando::f16_to_f32(x); }
DEVICE u16 narrow_f16(float x) { return pando::f32_to_f16(x); }
