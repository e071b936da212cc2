// The states of one layer with a gated delta rule, as calls of its kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"

namespace pando::bench {

// Heads of 128 x 128, as in Qwen3.5. Every call takes the states of all sequences from one slot to
// another over n_rows rows each.
class RecurrenceWork {
 public:
  static constexpr int kHeads = 16, kDim = 128;

  RecurrenceWork(int n_sequences, int n_rows);

  void run(ThreadPool& pool);
  double rows_of_heads() const { return 1.0 * n_sequences_ * n_rows_ * kHeads; }
  // Four operations in the pipes of multiply-adds for each cell of a state, counted as two each.
  double flops() const { return rows_of_heads() * 8.0 * kDim * kDim; }
  double bytes() const;  // of states, read and written

 private:
  int n_sequences_, n_rows_;
  std::vector<float> rows_;     // [rows of all sequences, queries, keys and values of all heads]
  std::vector<float> factors_;  // [rows, 3, heads]: decay, beta, product of key and query
  std::vector<float> out_;      // [rows, heads, 128]
  AlignedBuffer states_;        // [2, sequences, heads, 128 x 128]
};

}  // namespace pando::bench
