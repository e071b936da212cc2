// One kernel source for four compilers: OpenCL C 1.2, CUDA C++ (NVRTC), HIP, and C++ for the
// emulation on the CPU. Kernels use FMA, mul, add and sub for floats, because compilers may
// contract `a * b + c`.
//
//   KERNEL(threads) void name(const GLOBAL u32* w, s32 n)   threads of a work group
//   SHARED(type, name, [dimensions]);   shared by a work group; at the kernel's outermost scope
//   THREAD, GROUP(0 to 2), BARRIER()
#pragma once

#if defined(__OPENCL_C_VERSION__)  // ------------------------------------------------- OpenCL C
#pragma OPENCL FP_CONTRACT OFF
#if defined(__NV_CL_C_VERSION)
#define PANDO_PTX 1
#define ASM __asm__
#endif
typedef uchar u8;
typedef char s8;
typedef ushort u16;
typedef uint u32;
typedef int s32;
typedef ulong u64;
typedef uint4 u32x4;
#define KERNEL(threads) __kernel __attribute__((reqd_work_group_size(threads, 1, 1)))
#define DEVICE static inline __attribute__((always_inline))
#define GLOBAL __global
#define LOCAL __local
#define SHARED(type, name, dimensions) __local type name dimensions
#define THREAD ((s32)get_local_id(0))
#define GROUP(d) ((s32)get_group_id(d))
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#if defined(PANDO_CPU)  // compilers for CPUs take minutes otherwise
#define UNROLL _Pragma("nounroll")
#else
#define UNROLL _Pragma("unroll")
#endif
#if defined(__AMDGCN__)
// clang would turn the function call fma(a, b, 0) into a * b, which may be -0.
#define FMA(a, b, c) __builtin_fmaf(a, b, c)
#else
#define FMA(a, b, c) fma((float)(a), (float)(b), (float)(c))
#endif
#define F32_OF_BITS(x) as_float((u32)(x))
#define BITS_OF_F32(x) as_uint((float)(x))
#define DIV(a, b) ((float)(a) / (float)(b))
#define SQRT(x) sqrt((float)(x))
#define ABSF(x) fabs((float)(x))
#define ROUND_EVEN(x) rint((float)(x))
DEVICE float widen_f16(u16 x) { return vload_half(0, (const __private half*)&x); }
DEVICE u16 narrow_f16(float x) {
  u16 bits;
  vstore_half_rte(x, 0, (__private half*)&bits);
  return bits;
}

#elif defined(__CUDACC__)  // ------------------------------------------------------- CUDA C++
#define PANDO_PTX 1
#define ASM asm  // NVRTC knows no other name
typedef unsigned char u8;
typedef signed char s8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef uint4 u32x4;
#define KERNEL(threads) extern "C" __global__ __launch_bounds__(threads)
#define DEVICE static __device__ __forceinline__
#define GLOBAL
#define LOCAL
#define SHARED(type, name, dimensions) __shared__ type name dimensions
#define THREAD ((s32)threadIdx.x)
#define GROUP(d) ((s32)((d) == 0 ? blockIdx.x : (d) == 1 ? blockIdx.y : blockIdx.z))
#define BARRIER() __syncthreads()
#define UNROLL _Pragma("unroll")
#define FMA(a, b, c) __fmaf_rn(a, b, c)
#define F32_OF_BITS(x) __uint_as_float(x)
#define BITS_OF_F32(x) __float_as_uint(x)
#define DIV(a, b) __fdiv_rn(a, b)
#define SQRT(x) __fsqrt_rn(x)
#define ABSF(x) fabsf(x)
#define ROUND_EVEN(x) rintf(x)
DEVICE float widen_f16(u16 x) {
  float wide;
  ASM("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x));
  return wide;
}
DEVICE u16 narrow_f16(float x) {
  u16 bits;
  ASM("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}

#elif defined(__HIPCC__)  // --------------------------------- HIP: builtins of clang, no headers
#pragma clang fp contract(off)
typedef unsigned char u8;
typedef signed char s8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
struct alignas(16) u32x4 {
  u32 x, y, z, w;
};
#define KERNEL(threads) extern "C" __attribute__((global, launch_bounds(threads)))
#define DEVICE static inline __attribute__((device, always_inline))
#define GLOBAL
#define LOCAL
#define SHARED(type, name, dimensions) static __attribute__((shared)) type name dimensions
#define THREAD ((s32)__builtin_amdgcn_workitem_id_x())
#define GROUP(d)                                        \
  ((s32)((d) == 0   ? __builtin_amdgcn_workgroup_id_x() \
         : (d) == 1 ? __builtin_amdgcn_workgroup_id_y() \
                    : __builtin_amdgcn_workgroup_id_z()))
#define BARRIER()                                                                       \
  (__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"), __builtin_amdgcn_s_barrier(), \
   __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"))
#define UNROLL _Pragma("unroll")
#define FMA(a, b, c) __builtin_fmaf(a, b, c)
#define F32_OF_BITS(x) __builtin_bit_cast(float, (u32)(x))
#define BITS_OF_F32(x) __builtin_bit_cast(u32, (float)(x))
#define DIV(a, b) ((float)(a) / (float)(b))
// __builtin_sqrtf is one instruction, and inexact.
extern "C" __attribute__((device, const)) float __ocml_sqrt_f32(float);
#define SQRT(x) __ocml_sqrt_f32(x)
#define ABSF(x) __builtin_fabsf(x)
#define ROUND_EVEN(x) __builtin_rintf(x)
DEVICE float widen_f16(u16 x) { return (float)__builtin_bit_cast(_Float16, x); }
DEVICE u16 narrow_f16(float x) { return __builtin_bit_cast(u16, (_Float16)x); }

#else  // ------------------------------------------------------------------------ emulation
#include "exec/gpu/kernels/emulate.h"
#endif

// KERNEL with so few registers that n_groups work groups fit on one multiprocessor.
#if defined(__CUDACC__)
#define KERNEL_OF(threads, n_groups) extern "C" __global__ __launch_bounds__(threads, n_groups)
#else
#define KERNEL_OF(threads, n_groups) KERNEL(threads)
#endif

// Products and sums that are never contracted.
#if defined(PANDO_PTX)
#define PANDO_PTX_OPERATION(name, instruction)                       \
  DEVICE float name(float a, float b) {                              \
    float result;                                                    \
    ASM(instruction " %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b)); \
    return result;                                                   \
  }
PANDO_PTX_OPERATION(mul, "mul.rn.f32")
PANDO_PTX_OPERATION(add, "add.rn.f32")
PANDO_PTX_OPERATION(sub, "sub.rn.f32")
#else
DEVICE float mul(float a, float b) { return a * b; }
DEVICE float add(float a, float b) { return a + b; }
DEVICE float sub(float a, float b) { return a - b; }
#endif

// Like std::max and std::min: `a` if the values are equal or unordered.
DEVICE float MAXF(float a, float b) { return a < b ? b : a; }
DEVICE float MINF(float a, float b) { return b < a ? b : a; }

#define TO_S32(x) ((s32)(x))  // x is a whole number
#define IS_NAN(x) ((BITS_OF_F32(x) & 0x7fffffffu) > 0x7f800000u)
#define INFINITE F32_OF_BITS(0x7f800000u)

// 16-bit types are u16 each; narrowing rounds to nearest even.
#define WIDEN_F16(p, i) widen_f16((p)[i])
#define NARROW_F16(x) narrow_f16(x)
#define WIDEN_BF16(x) F32_OF_BITS((u32)(x) << 16)
DEVICE u16 NARROW_BF16(float x) {
  const u32 bits = BITS_OF_F32(x);
  if (IS_NAN(x)) return (u16)((bits >> 16) | 0x40u);
  return (u16)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// Chooses four of eight bytes: 0 to 3 are those of a, 4 to 7 those of b. The low three bits of each
// of the lowest four hexadecimal digits of `places` choose a byte.
DEVICE u32 choose_bytes(u32 a, u32 b, u32 places) {
#if defined(__CUDACC__)
  return __byte_perm(a, b, places);
#elif defined(PANDO_PTX)
  u32 bytes;
  ASM("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(a), "r"(b), "r"(places & 0x7777u));
  return bytes;
#else
  const u64 both = (u64)b << 32 | a;
  return ((u32)(both >> ((places & 7u) << 3)) & 255u) |
         ((u32)(both >> ((places >> 4 & 7u) << 3)) & 255u) << 8 |
         ((u32)(both >> ((places >> 8 & 7u) << 3)) & 255u) << 16 |
         ((u32)(both >> ((places >> 12 & 7u) << 3)) & 255u) << 24;
#endif
}

// c plus the four products of the signed bytes of a and b.
DEVICE s32 dot4(u32 a, u32 b, s32 c) {
#if defined(PANDO_PTX)
  s32 sum;
  ASM("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
  return sum;
#elif defined(__gfx906__) || defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx1030__)
  return __builtin_amdgcn_sdot4((s32)a, (s32)b, c, 0);
#else
  return c + (s32)(s8)a * (s32)(s8)b + (s32)(s8)(a >> 8) * (s32)(s8)(b >> 8) +
         (s32)(s8)(a >> 16) * (s32)(s8)(b >> 16) + (s32)(s8)(a >> 24) * (s32)(s8)(b >> 24);
#endif
}

// Adds products of 32 (words 0 to 7) or 16 (words 0 to 3) signed bytes of each row to 16 x 8 sums
// of a warp. Lane 4 r + q has the sums of rows r (c[0], c[1]) and r + 8 (c[2], c[3]) and columns 2
// q and 2 q + 1. a: [16, stride] words, b: [8, stride]. Called by all 32 lanes; sums are exact.
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 800
DEVICE void mma_16x8x32(s32* c, const LOCAL u32* a, const LOCAL u32* b, s32 stride, s32 lane) {
  const s32 at = (lane >> 2) * stride + (lane & 3);
  ASM volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[at]), "r"(a[at + 8 * stride]), "r"(a[at + 4]), "r"(a[at + 8 * stride + 4]),
        "r"(b[at]), "r"(b[at + 4]));
}
DEVICE void mma_16x8x16(s32* c, const LOCAL u32* a, const LOCAL u32* b, s32 stride, s32 lane) {
  const s32 at = (lane >> 2) * stride + (lane & 3);
  ASM volatile(
      "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 "
      "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[at]), "r"(a[at + 8 * stride]), "r"(b[at]));
}
#else
DEVICE void add_products_of_bytes(s32* c, const LOCAL u32* a, const LOCAL u32* b, s32 stride,
                                  s32 lane, const s32 n_words) {
  const LOCAL u32* const row = a + (lane >> 2) * stride;
  const LOCAL u32* const column = b + (lane & 3) * 2 * stride;
  UNROLL for (s32 k = 0; k < n_words; ++k) {
    c[0] = dot4(row[k], column[k], c[0]);
    c[1] = dot4(row[k], column[stride + k], c[1]);
    c[2] = dot4(row[8 * stride + k], column[k], c[2]);
    c[3] = dot4(row[8 * stride + k], column[stride + k], c[3]);
  }
}
DEVICE void mma_16x8x32(s32* c, const LOCAL u32* a, const LOCAL u32* b, s32 stride, s32 lane) {
  add_products_of_bytes(c, a, b, stride, lane, 8);
}
DEVICE void mma_16x8x16(s32* c, const LOCAL u32* a, const LOCAL u32* b, s32 stride, s32 lane) {
  add_products_of_bytes(c, a, b, stride, lane, 4);
}
#endif
