// Outputs of a step over ranks, as rank 0 has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "comm/comm.h"

namespace pando::exec {

constexpr size_t kLogitBlock = 32;  // rows of logits in a message

// The logits that one rank sends for a step: a slice of the vocabulary, in blocks of rows. A block
// is received when it is needed, so that rank 0 holds few of them.
class LogitStream {
 public:
  // columns: [begin, end) of the vocabulary. `comm` outlives it.
  LogitStream(Comm& comm, int rank, std::pair<int, int> columns, size_t n_rows)
      : comm_(&comm), rank_(rank), columns_(columns), n_rows_(n_rows) {}

  std::pair<int, int> columns() const { return columns_; }
  // The row's slice, [n_columns] f32, valid until the next call. Rows are read in ascending order.
  const float* row(size_t i);
  void receive_rest();  // and keeps it
  void drop_rest();

 private:
  size_t width() const { return static_cast<size_t>(columns_.second - columns_.first); }
  void receive_block();

  Comm* comm_;
  int rank_;
  std::pair<int, int> columns_;
  size_t n_rows_;
  size_t n_received_ = 0;
  std::vector<float> kept_;  // [n_kept, n_columns], the rows that were received last
};

struct StepOutputs {
  std::vector<float> hidden;  // [n_outputs, d_model] f32, after the last norm

  // The following are empty if rank 0 has the whole head.
  static constexpr uint32_t kNotRead = ~uint32_t{0};
  struct Place {
    uint32_t part;  // that computes the row
    uint32_t row;   // among its rows with logits; kNotRead: it has none
  };
  std::vector<Place> places;                      // [n_outputs]
  std::vector<std::vector<LogitStream>> streams;  // [n_parts] from each rank but this one

  // Writes the slices of other ranks for outputs [first, first + n) to out, [n, vocab] f32.
  void receive_logits(size_t first, size_t n, size_t vocab, float* out);
  void receive_rest();
  void drop_rest();
};

}  // namespace pando::exec
