// A rule for strings that counts their characters while it reads them.
#pragma once

#include <cstdint>
#include <vector>

#include "text/grammar/char_lengths.h"

namespace pando::grammar {

// Its states belong to a Grammar, which has an id for each pair of a state and a count.
struct CountedRule {
  uint32_t first_id = 0;  // first of the ids [last_count + 1, n_states]
  uint32_t first_state = 0;
  uint32_t n_states = 0;
  uint32_t last_count = 0;  // also stands for larger counts
  CharLengths lengths = {};
  // For each state, the states of `lengths` to which the current character may lead; for a state
  // between two characters, its own.
  std::vector<uint32_t> targets = {};
  std::vector<uint32_t> first_target = {};  // [n_states + 1]
  std::vector<bool> is_between = {};        // [n_states] it is between two characters

  // True if the string can still end within its bounds. `n_read` includes the current character.
  bool allows(uint32_t state, uint32_t n_read) const {
    for (uint32_t i = first_target[state]; i < first_target[state + 1]; ++i)
      if (lengths.allows(targets[i], n_read)) return true;
    return false;
  }
  size_t n_bytes() const {
    return sizeof(*this) + lengths.n_bytes() + is_between.size() / 8 +
           (targets.size() + first_target.size()) * sizeof(uint32_t);
  }
};

}  // namespace pando::grammar
