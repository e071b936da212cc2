// Peaks of the machine: multiply-adds in registers, and reading memory.
#pragma once

#include "base/dtype.h"
#include "base/thread_pool.h"
#include "exec/cpu/kernel/kernels.h"

namespace pando::bench {

// The table that engines use for instruction set "".
const kernel::Kernels& used_kernels();

// Peak over several attempts, on all threads of the pool.
struct Peak {
  double wall;       // per second on the clock, all threads; the best attempt
  double processor;  // per second of one processor; all attempts together
};

// Operations (two for a multiply-add) of the kind that products with weights of this type are made
// of: f32, pairs of bf16 (bf16_dot), or 8-bit integers summed in 32 bits. Not finite where this
// program has no measure of it.
Peak multiply_peak(ThreadPool& pool, DType weights);
// Bytes read from n_bytes of memory: more than caches hold.
Peak read_peak(ThreadPool& pool, size_t n_bytes);
// Bytes read when each thread reads its n_bytes again and again; a power of two, 128 to 1 MiB.
Peak cached_read_peak(ThreadPool& pool, size_t n_bytes);

}  // namespace pando::bench
