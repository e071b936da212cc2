// The index finds tokens of a ragged batch that have equal pasts: the maps of RadixMLP.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pando/values/token.h"

namespace pando::lab {

// RadixMLP 3.2: compact rows are the distinct trie nodes of the batch, in order of first
// occurrence.
struct PrefixIndex {
  std::vector<uint32_t> gather;   // [n_compact] the token that stands for the row: its first one
  std::vector<uint32_t> scatter;  // [n_tokens] the row of each token
};

// RadixMLP, algorithm 2, over runs of tokens instead of tokens: a trie node is a run, a match is a
// comparison of memory, maps are written as ranges, and the child of a node is one look-up in a
// hash by (node, next position, next token). Linear in the tokens for any fan-out. Keeps its memory
// between calls.
class PrefixIndexer {
 public:
  // Two tokens share a row where all (token, position) pairs of their sequences up to and including
  // their own are equal. ids, positions: [n_tokens]; cu_seq_lens: [n_sequences + 1], ascending from
  // 0 to n_tokens. The result stays valid until the next call.
  const PrefixIndex& build(std::span<const Token> ids, std::span<const uint32_t> positions,
                           std::span<const uint32_t> cu_seq_lens);

 private:
  // Tokens [begin, begin + len) of the batch, at rows [row, row + len).
  struct Run {
    uint32_t begin, len, row;
  };
  struct Slot {
    uint32_t parent, child;  // runs; the child's first token is the rest of the key
  };

  void insert(uint32_t begin, uint32_t end);
  uint32_t common_prefix(uint32_t a, uint32_t b, uint32_t n) const;
  Slot& slot(uint32_t parent, uint32_t token);
  void split(Slot& found, uint32_t len);
  void add_run(Slot& at, uint32_t parent, uint32_t begin, uint32_t end);

  std::span<const Token> ids_;
  std::span<const uint32_t> positions_;
  std::vector<Run> runs_;
  std::vector<Slot> slots_;  // open addressing; a power of two
  PrefixIndex index_;
};

// A single PrefixIndexer::build.
PrefixIndex build_prefix_index(std::span<const Token> ids, std::span<const uint32_t> positions,
                               std::span<const uint32_t> cu_seq_lens);

}  // namespace pando::lab
