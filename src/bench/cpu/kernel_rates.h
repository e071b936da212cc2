// Rates of single kernels, as what whole runs are held against.
#pragma once

#include <vector>

#include "bench/cpu/attention_work.h"
#include "bench/harness.h"
#include "exec/cpu/kernel/linear.h"

namespace pando::bench {

// Products with one matrix of small weights, or with copies of it in turn.
class ProductWork {
 public:
  // n_bytes: that all copies have at least; 0: one copy.
  ProductWork(DType type, int n, int k, size_t n_bytes);

  // x: [m, k] of ordinary numbers.
  void run(ThreadPool& pool, int m);
  size_t bytes() const { return copies_[0].bytes(); }  // of the weights of one call
  float* y() { return y_.data(); }                     // [m, n] of the last call

 private:
  int n_, k_;
  std::vector<kernel::PackedMatrix> copies_;
  size_t next_ = 0;
  std::vector<float> x_, y_;
  kernel::PackedRows scratch_;
};

// All of the following are a second on the clock, on all threads of the harness.

// Bytes read from memory.
double read_bandwidth(const Harness& harness);
// Bytes per second of keys and values that sequences read one after another from the pages of a
// common prefix: the first from memory, the others from caches as far as these hold them.
double own_read_rate(const Harness& harness, AttentionCase shape);
// Operations (4 for each row, head, key and channel) of n_rows rows for each KV head against the
// same n_keys positions, which come from memory.
double attention_rate(const Harness& harness, int n_rows, int n_keys, int head_dim, int n_kv_heads,
                      KvType type);
// Operations (2 M N K) of m rows with weights [n, k] that come from memory.
double product_rate(const Harness& harness, DType type, int m, int n, int k);

}  // namespace pando::bench
