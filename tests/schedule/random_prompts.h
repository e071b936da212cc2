// Prompts that begin alike, as pieces.
#pragma once

#include <random>
#include <vector>

#include "base/mix.h"
#include "schedule/pieces.h"

namespace pando::testing {

// Pieces of a path of at most `longest` from the root of one tree, in which each has three
// children.
inline std::vector<Piece> random_prompt(std::mt19937& rng, size_t longest = 8) {
  std::vector<Piece> pieces;
  Piece piece = 1;
  for (size_t n = rng() % (longest + 1); n > 0; --n)
    pieces.push_back(piece = mix64(3 * piece + rng() % 3));
  return pieces;
}

}  // namespace pando::testing
