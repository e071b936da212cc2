// Deterministic automata over characters, for the texts of a pattern, a length or a set of numbers.
// They can be intersected and complemented, unlike expressions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pando/values/result.h"
#include "text/grammar/char_set.h"
#include "text/grammar/regex.h"

namespace pando::grammar {

// Immutable once made. From every state some text leads to an accepting one, or there are no
// states.
class CharDfa {
 public:
  static constexpr uint32_t kDead = UINT32_MAX;

  // The texts that match `regex` as a whole; with `is_search`, texts that contain a match. "^" and
  // "$" are the ends of the text. Errors continue "the pattern is": "too complex: ...". n_steps:
  // receives the steps of the construction in addition, also after an error.
  static Result<CharDfa> of(const Regex& regex, bool is_search = false, size_t* n_steps = nullptr);
  // Makes an automaton from its table: classes partition all characters; next[state * n_classes +
  // class].
  static CharDfa of_table(std::vector<CharSet> classes, std::vector<uint32_t> next,
                          std::vector<bool> accepts);

  Result<CharDfa> both(const CharDfa& other, size_t* n_steps = nullptr) const;  // intersection
  CharDfa complement() const;
  // The automaton of the same texts with the fewest states.
  CharDfa minimal() const;

  bool is_empty() const { return accepts_.empty(); }  // accepts no text
  bool matches(std::string_view text) const;          // UTF-8
  size_t n_steps_of(std::string_view text) const { return text.size() * (1 + classes_.size()); }
  size_t n_states() const { return accepts_.size(); }  // the first is the start
  bool accepts(size_t state) const { return accepts_[state]; }
  const std::vector<CharSet>& classes() const { return classes_; }
  uint32_t next(size_t state, size_t char_class) const {
    return next_[state * classes_.size() + char_class];
  }

 private:
  void trim();

  std::vector<CharSet> classes_;
  std::vector<uint32_t> next_;  // [n_states, n_classes]
  std::vector<bool> accepts_;   // [n_states]
};

}  // namespace pando::grammar
