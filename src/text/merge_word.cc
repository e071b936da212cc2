#include "text/merge_word.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <span>

namespace pando {
namespace {

constexpr size_t kShortWord = 48;  // symbols; up to here a scan for the minimum beats a heap

uint64_t pair_key(Token left, Token right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

// Quadratic, in registers and one cache line or two. Returns the new length.
size_t merge_short(const MergeTable& merges, std::span<Token> word) {
  std::array<MergeTable::Found, kShortWord> pairs;  // [i]: merge of word[i] and word[i + 1]
  size_t n = word.size();
  for (size_t i = 0; i + 1 < n; ++i) pairs[i] = merges.find(word[i], word[i + 1]);
  while (n > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < n; ++i) {
      if (pairs[i].rank < pairs[best].rank) best = i;
    }
    if (pairs[best].rank == MergeTable::kNone) break;
    word[best] = pairs[best].result;
    std::copy(&word[best] + 2, word.data() + n, &word[best] + 1);
    std::copy(&pairs[best] + 1, pairs.data() + n - 1, &pairs[best]);
    --n;
    if (best > 0) pairs[best - 1] = merges.find(word[best - 1], word[best]);
    if (best + 1 < n) pairs[best] = merges.find(word[best], word[best + 1]);
  }
  return n;
}

// A linked list of symbols and a heap of (rank, position), n log n. An entry of the heap is out of
// date where the pair at its position has another rank by now.
class LongWord {
 public:
  LongWord(const MergeTable& merges, std::span<const Token> word)
      : merges_(merges), symbols_(word.size()) {
    const auto n = static_cast<uint32_t>(word.size());
    for (uint32_t i = 0; i < n; ++i) symbols_[i] = {word[i], i - 1, i + 1, MergeTable::kNone};
    heap_.reserve(n);
    for (uint32_t i = 0; i + 1 < n; ++i) {
      symbols_[i].rank = merges_.find(word[i], word[i + 1]).rank;
      if (symbols_[i].rank != MergeTable::kNone) heap_.push_back(entry(symbols_[i].rank, i));
    }
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  void merge_all() {
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      const uint64_t top = heap_.back();
      heap_.pop_back();
      const auto position = static_cast<uint32_t>(top);
      if (symbols_[position].rank == top >> 32) merge_at(position);
    }
  }

  // Writes the tokens left over the symbols they came from.
  size_t write(std::span<Token> word) const {
    size_t n = 0;
    for (uint32_t i = 0; i < symbols_.size(); i = symbols_[i].next) word[n++] = symbols_[i].token;
    return n;
  }

 private:
  struct Symbol {
    Token token;
    uint32_t previous;  // out of range at the ends
    uint32_t next;
    uint32_t rank;  // of this symbol and the next; kNone if they do not merge
  };

  static uint64_t entry(uint32_t rank, uint32_t position) {
    return static_cast<uint64_t>(rank) << 32 | position;
  }

  void merge_at(uint32_t position) {
    Symbol& left = symbols_[position];
    Symbol& right = symbols_[left.next];
    left.token = merges_.find(left.token, right.token).result;
    right.rank = MergeTable::kNone;  // its entries are out of date
    left.next = right.next;
    if (left.next < symbols_.size()) symbols_[left.next].previous = position;
    rank_pair(position);
    if (left.previous < symbols_.size()) rank_pair(left.previous);
  }

  void rank_pair(uint32_t position) {
    Symbol& left = symbols_[position];
    left.rank = MergeTable::kNone;
    if (left.next >= symbols_.size()) return;
    left.rank = merges_.find(left.token, symbols_[left.next].token).rank;
    if (left.rank == MergeTable::kNone) return;
    heap_.push_back(entry(left.rank, position));
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  const MergeTable& merges_;
  std::vector<Symbol> symbols_;
  std::vector<uint64_t> heap_;
};

}  // namespace

MergeTable::MergeTable(const std::vector<Merge>& merges)
    : slots_(std::bit_ceil(merges.size() + merges.size() / 2 + 2)),
      shift_(64 - std::countr_zero(slots_.size())) {
  for (const Merge& merge : merges) {
    const uint64_t pair = pair_key(merge.left, merge.right);
    size_t at = first_slot(pair);
    while (slots_[at].pair != kEmpty && slots_[at].pair != pair) at = (at + 1) % slots_.size();
    slots_[at] = {pair, {merge.rank, merge.result}};
  }
}

MergeTable::Found MergeTable::find(Token left, Token right) const {
  const uint64_t pair = pair_key(left, right);
  const size_t mask = slots_.size() - 1;
  for (size_t at = first_slot(pair);; at = (at + 1) & mask) {
    if (slots_[at].pair == pair) return slots_[at].found;
    if (slots_[at].pair == kEmpty) return {};
  }
}

void merge_word(const MergeTable& merges, size_t begin, std::vector<Token>* tokens) {
  const std::span<Token> word = std::span(*tokens).subspan(begin);
  size_t n = word.size();
  if (n <= kShortWord) {
    n = merge_short(merges, word);
  } else {
    LongWord long_word(merges, word);
    long_word.merge_all();
    n = long_word.write(word);
  }
  tokens->resize(begin + n);
}

}  // namespace pando
