// Bounds for the lengths of an automaton's texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "pando/values/result.h"
#include "text/grammar/char_dfa.h"

namespace pando::grammar {

// Bounds of a text's length, in characters.
struct Lengths {
  static constexpr size_t kNoEnd = SIZE_MAX;
  size_t least = 0;
  size_t most = kNoEnd;

  bool are_any() const { return least == 0 && most == kNoEnd; }
  bool contain(size_t n) const { return n >= least && n <= most; }
};

// The texts with a bounded number of characters, all from one set.
struct CountedSet {
  CharSet set;
  Lengths lengths;
};
// The counted set of a pattern such as "^[a-z]{1,9}$"; nothing for other patterns.
std::optional<CountedSet> counted_set_of(const Regex& pattern);

// Tells from which states of a CharDfa a text can still end within its bounds, so that the
// automaton needs no counting states. Immutable; any thread.
class CharLengths {
 public:
  // Error messages continue "the lengths are": "too complex: ...". `n_steps`: as in CharDfa::of.
  static Result<CharLengths> of(const CharDfa& dfa, Lengths bounds, size_t* n_steps = nullptr);

  const Lengths& bounds() const { return bounds_; }
  size_t n_states() const { return n_states_; }  // states of the automaton
  // True if a text within the bounds can begin with `n_read` characters that lead to `state`.
  bool allows(uint32_t state, size_t n_read) const;
  bool has_text() const { return n_states_ > 0 && allows(0, 0); }
  // The fewest characters from a state to an end, and the largest of these numbers.
  uint32_t shortest(uint32_t state) const { return shortest_[state]; }
  uint32_t longest_rest() const { return longest_rest_; }
  size_t n_bytes() const { return shortest_.size() * sizeof(uint32_t); }

 private:
  static constexpr uint32_t kNever = UINT32_MAX;

  Lengths bounds_;
  size_t n_states_ = 0, n_rows_ = 1;
  uint32_t longest_rest_ = 0;
  // [n_rows, n_states] For row i, the fewest characters, at least i, from a state to an end. In the
  // last row and all rows after it this is i or kNever.
  std::vector<uint32_t> shortest_;
};

}  // namespace pando::grammar
