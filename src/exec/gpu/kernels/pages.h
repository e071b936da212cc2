// Keys and values in pages: exec/scalar/pages.cc, in the layout of exec/cpu/kernel/kv_layout.h.
// int8 keys are signed.
#pragma once

#include "exec/gpu/kernels/quantise.h"

#define PAGE_THREADS 64
#define F16_MOST 65504.0f

#define PAGE_F32(x) (x)
#define PAGE_BF16(x) NARROW_BF16(x)
DEVICE u16 PAGE_F16(float x) {
  return NARROW_F16(x > F16_MOST ? F16_MOST : x < -F16_MOST ? -F16_MOST : x);  // NaN stays
}

// An int8 chunk: padded dims of a group of four value positions, and the byte where scales begin.
#define INT8_VALUE_DIMS(head_dim) (((head_dim) + 15) / 16 * 16)
#define INT8_SCALES(page_len, head_dim) (((page_len) + 3) / 4 * 4 * INT8_VALUE_DIMS(head_dim))

// Parameters of kernels that write. GROUP(0) is a row, GROUP(1) a KV head. A row goes to the slots
// from slot_begin[row] up to slot_begin[row + 1]; a slot is a page and an offset. keys, values:
// [n_rows, stride], with heads from column `first` on. key_at, value_at: offsets of head 0's chunks
// in a page.
#define WRITE_PARAMETERS                                                                   \
  GLOBAL u8 *memory, const GLOBAL u32 *slot_begin, const GLOBAL u32 *slots,                \
      const GLOBAL float *keys, u64 key_stride, u64 key_first, const GLOBAL float *values, \
      u64 value_stride, u64 value_first, u64 page_bytes, u64 chunk_bytes, u64 key_at,      \
      u64 value_at, s32 page_len, s32 head_dim

// Declares the row's and head's key and value, [head_dim].
#define ROW_AND_HEAD                                                               \
  const u64 row = (u64)GROUP(0), head = (u64)GROUP(1);                             \
  const GLOBAL float* key = keys + row * key_stride + key_first + head * head_dim; \
  const GLOBAL float* value = values + row * value_stride + value_first + head * head_dim;

// The head's chunk in the page of slot s.
#define CHUNK(at) (memory + slots[2 * s] * page_bytes + (at) + head * chunk_bytes)

#define PAGE_WRITE(name, type, NARROWED)                          \
  KERNEL(PAGE_THREADS) void name(WRITE_PARAMETERS) {              \
    ROW_AND_HEAD                                                  \
    for (u32 s = slot_begin[row]; s < slot_begin[row + 1]; ++s) { \
      const s32 offset = (s32)slots[2 * s + 1];                   \
      GLOBAL type* to_keys = (GLOBAL type*)CHUNK(key_at);         \
      GLOBAL type* to_values = (GLOBAL type*)CHUNK(value_at);     \
      for (s32 i = THREAD; i < head_dim; i += PAGE_THREADS) {     \
        to_keys[i * page_len + offset] = NARROWED(key[i]);        \
        to_values[offset * head_dim + i] = NARROWED(value[i]);    \
      }                                                           \
    }                                                             \
  }
PAGE_WRITE(page_write_f32, float, PAGE_F32)
PAGE_WRITE(page_write_f16, u16, PAGE_F16)
PAGE_WRITE(page_write_bf16, u16, PAGE_BF16)

// Puts the largest magnitudes of key and value into most[0] and most[PAGE_THREADS].
DEVICE void find_most(const GLOBAL float* key, const GLOBAL float* value, s32 n,
                      LOCAL float* most) {
  float of_key = 0.0f, of_value = 0.0f;
  for (s32 i = THREAD; i < n; i += PAGE_THREADS) {
    of_key = MAXF(of_key, ABSF(key[i]));
    of_value = MAXF(of_value, ABSF(value[i]));
  }
  most[THREAD] = of_key;
  most[PAGE_THREADS + THREAD] = of_value;
  for (s32 half_n = PAGE_THREADS / 2; half_n > 0; half_n /= 2) {
    BARRIER();
    if (THREAD < half_n) {
      LOCAL float *of_keys = most + THREAD, *of_values = of_keys + PAGE_THREADS;
      of_keys[0] = MAXF(of_keys[0], of_keys[half_n]);
      of_values[0] = MAXF(of_values[0], of_values[half_n]);
    }
  }
  BARRIER();
}

KERNEL(PAGE_THREADS) void page_write_int8(WRITE_PARAMETERS) {
  SHARED(float, most, [2 * PAGE_THREADS]);
  ROW_AND_HEAD
  find_most(key, value, head_dim, most);
  const float key_most = most[0] < LEAST_AMAX ? 0.0f : most[0];
  const float value_most = most[PAGE_THREADS] < LEAST_AMAX ? 0.0f : most[PAGE_THREADS];
  const float key_factor = factor_of(key_most), value_factor = factor_of(value_most);
  const s32 scales = INT8_SCALES(page_len, head_dim), dims = INT8_VALUE_DIMS(head_dim);
  for (u32 s = slot_begin[row]; s < slot_begin[row + 1]; ++s) {
    const s32 offset = (s32)slots[2 * s + 1];
    GLOBAL s8* to_keys = (GLOBAL s8*)CHUNK(key_at);
    GLOBAL s8* to_values = (GLOBAL s8*)CHUNK(value_at);
    for (s32 i = THREAD; i < head_dim; i += PAGE_THREADS) {
      to_keys[(i / 4 * page_len + offset) * 4 + i % 4] = (s8)integer_of(key[i], key_factor);
      to_values[(offset / 4 * dims + i) * 4 + offset % 4] = (s8)integer_of(value[i], value_factor);
    }
    if (THREAD == 0) {
      ((GLOBAL float*)(to_keys + scales))[offset] = DIV(key_most, 127.0f);
      ((GLOBAL float*)(to_values + scales))[offset] = DIV(value_most, 127.0f);
    }
  }
}

// The position of element i of a chunk.
#define PLAIN_POSITION(i) (is_value ? (i) / head_dim : (i) % page_len)
#define INT8_POSITION(i)                                                                        \
  ((i) >= INT8_SCALES(page_len, head_dim) ? ((i)-INT8_SCALES(page_len, head_dim)) / 4           \
   : is_value                             ? (i) / (4 * INT8_VALUE_DIMS(head_dim)) * 4 + (i) % 4 \
                                          : (i) / 4 % page_len)

// GROUP(0) is a chunk of a group of layers; the group begins at group_at in a page. GROUP(1) counts
// copies from `first` on. A copy {from, to, n} copies the first n positions of a page. n_elements:
// elements of a chunk.
#define PAGE_COPY(name, type, POSITION)                                                           \
  KERNEL(PAGE_THREADS)                                                                            \
  void name(GLOBAL u8* memory, const GLOBAL u32* copies, u32 first, u64 page_bytes, u64 group_at, \
            u64 chunk_bytes, s32 n_kv, s32 page_len, s32 head_dim, s32 n_elements) {              \
    const GLOBAL u32* copy = copies + 3 * (first + (u32)GROUP(1));                                \
    const u64 at = group_at + (u64)GROUP(0) * chunk_bytes;                                        \
    const GLOBAL type* from = (const GLOBAL type*)(memory + copy[0] * page_bytes + at);           \
    GLOBAL type* to = (GLOBAL type*)(memory + copy[1] * page_bytes + at);                         \
    const s32 is_value = GROUP(0) / n_kv % 2, n_positions = (s32)copy[2];                         \
    for (s32 i = THREAD; i < n_elements; i += PAGE_THREADS)                                       \
      if (POSITION(i) < n_positions) to[i] = from[i];                                             \
  }
PAGE_COPY(page_copy_32, u32, PLAIN_POSITION)
PAGE_COPY(page_copy_16, u16, PLAIN_POSITION)
PAGE_COPY(page_copy_int8, u8, INT8_POSITION)
