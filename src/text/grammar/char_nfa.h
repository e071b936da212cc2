// The nondeterministic automaton of an expression, on the way to its CharDfa.
#pragma once

#include <cstdint>
#include <vector>

#include "pando/values/result.h"
#include "text/grammar/regex.h"

namespace pando::grammar {

struct CharNfa {
  enum class Kind { kSet, kEmpty, kTextStart, kTextEnd };
  struct Edge {
    Kind kind;
    uint32_t target;
    uint32_t set = 0;  // kSet: index in `sets`
  };
  std::vector<std::vector<Edge>> edges;  // of each state
  std::vector<CharSet> sets;
  uint32_t start = 0;
  uint32_t final = 0;
  bool has_assertions = false;
};

Result<CharNfa> char_nfa_of(const Regex& regex, bool is_search);

}  // namespace pando::grammar
