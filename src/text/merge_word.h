// The loop of byte-pair encoding: symbols to tokens, the lowest rank first, the leftmost first
// among equals.
#pragma once

#include <cstdint>
#include <vector>

#include "text/vocab.h"

namespace pando {

// Pair of tokens -> rank and result: open addressing, built once. If a pair is listed twice, the
// later entry counts.
class MergeTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Found {
    uint32_t rank = kNone;  // the lower, the earlier; kNone if the pair does not merge
    Token result = -1;
  };

  explicit MergeTable(const std::vector<Merge>& merges);
  Found find(Token left, Token right) const;

 private:
  static constexpr uint64_t kEmpty = UINT64_MAX;  // no pair: tokens are not negative
  struct Slot {
    uint64_t pair = kEmpty;
    Found found;
  };

  size_t first_slot(uint64_t pair) const { return pair * 0x9E3779B97F4A7C15u >> shift_; }

  std::vector<Slot> slots_;
  int shift_;
};

// Merges (*tokens)[begin, end) in place, where they are the symbols of one word.
void merge_word(const MergeTable& merges, size_t begin, std::vector<Token>* tokens);

}  // namespace pando
