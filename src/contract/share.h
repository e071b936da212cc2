// The part of a model that one of several processes has.
#pragma once

namespace pando {

// Layers are divided over stages. In each stage, the outputs of matrices are divided over ranks; no
// sum is split.
struct ModelShare {
  int stage = 0, n_stages = 1;
  int rank = 0, n_ranks = 1;
  int copy = 0;  // index among ranks with the same matrices

  bool is_first() const { return stage == 0; }
  bool is_last() const { return stage + 1 == n_stages; }
  bool has_head() const { return stage == 0 && rank == 0 && copy == 0; }
  bool is_whole() const { return n_stages == 1 && n_ranks == 1; }
};

}  // namespace pando
