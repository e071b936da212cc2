// How long the texts of an automaton over characters may be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "pando/result.h"
#include "text/grammar/char_dfa.h"

namespace pando::grammar {

// Bounds of a text in characters.
struct Lengths {
  static constexpr size_t kNoEnd = SIZE_MAX;
  size_t least = 0;
  size_t most = kNoEnd;

  bool are_any() const { return least == 0 && most == kNoEnd; }
  bool contain(size_t n) const { return n >= least && n <= most; }
};

// The texts of a number of characters of one set.
struct CountedSet {
  CharSet set;
  Lengths lengths;
};
// Of a pattern such as "^[a-z]{1,9}$".
std::optional<CountedSet> counted_set_of(const Regex& pattern);

// Says from which states of a CharDfa a text can still end within its bounds. So the automaton
// needs no states that count. Immutable; any thread.
class CharLengths {
 public:
  // Errors go on from "the lengths are": "too complex: ...". `n_steps`: as CharDfa::of.
  static Result<CharLengths> of(const CharDfa& dfa, Lengths bounds, size_t* n_steps = nullptr);

  const Lengths& bounds() const { return bounds_; }
  size_t n_states() const { return n_states_; }  // of the automaton
  // Whether some text within the bounds begins with `n_read` characters that lead to `state`.
  bool allows(uint32_t state, size_t n_read) const;
  bool has_text() const { return n_states_ > 0 && allows(0, 0); }
  // The fewest characters from a state to an end, and the largest such number of all states.
  uint32_t shortest(uint32_t state) const { return shortest_[state]; }
  uint32_t longest_rest() const { return longest_rest_; }
  size_t n_bytes() const { return shortest_.size() * sizeof(uint32_t); }

 private:
  static constexpr uint32_t kNever = UINT32_MAX;

  Lengths bounds_;
  size_t n_states_ = 0, n_rows_ = 1;
  uint32_t longest_rest_ = 0;
  // [n_rows, n_states] The fewest characters from a state to an end, at least the row's number of
  // them. In the last row this is the row's number or kNever, and so it is in each row behind it.
  std::vector<uint32_t> shortest_;
};

}  // namespace pando::grammar
