// The part of a model that one of several processes has.
#pragma once

#include <compare>

namespace pando {

// Layers are divided over stages. In each stage, the outputs of matrices are divided over ranks; no
// sum is split.
struct ModelShare {
  int stage = 0, n_stages = 1;
  int rank = 0, n_ranks = 1;
  int copy = 0;  // index among ranks with the same matrices
  // Layers [first_layer, end_layer) of the stage. end_layer 0: stages have about equal products.
  int first_layer = 0, end_layer = 0;
  // The ranks of the last stage have slices of the LM head; otherwise one rank has all of it.
  bool divides_head = false;

  auto operator<=>(const ModelShare&) const = default;
  bool is_first() const { return stage == 0; }
  bool is_last() const { return stage + 1 == n_stages; }
  bool has_head() const { return divides_head ? is_last() : stage == 0 && rank == 0 && copy == 0; }
  bool is_whole() const { return n_stages == 1 && n_ranks == 1; }
};

}  // namespace pando
