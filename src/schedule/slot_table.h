// Finds slots of an array by the 64-bit key in each: a hash table of indices alone.
#pragma once

#include <cstdint>
#include <vector>

namespace pando {

// Keys must be hashes. Linear probing, at most three quarters full, 5.3 to 10.7 bytes a key.
class SlotTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  // key_of(slot) gives the key of each slot that was added.
  template <class KeyOf>
  uint32_t find(uint64_t key, const KeyOf& key_of) const {
    if (cells_.empty()) return kNone;
    for (size_t at = home(key); cells_[at] != kNone; at = next(at))
      if (key_of(cells_[at]) == key) return cells_[at];
    return kNone;
  }

  // The key of this slot is not in the table.
  template <class KeyOf>
  void add(uint32_t slot, const KeyOf& key_of) {
    if (4 * (n_ + 1) > 3 * cells_.size()) grow(key_of);
    place(slot, key_of);
    ++n_;
  }

  // The slot of this key is in the table.
  template <class KeyOf>
  void remove(uint64_t key, const KeyOf& key_of) {
    size_t hole = home(key);
    while (key_of(cells_[hole]) != key) hole = next(hole);
    // Moves back each later slot of the run that may stand in the hole.
    for (size_t at = next(hole); cells_[at] != kNone; at = next(at)) {
      const size_t from = home(key_of(cells_[at]));
      if (((at - from) & mask()) < ((at - hole) & mask())) continue;
      cells_[hole] = cells_[at];
      hole = at;
    }
    cells_[hole] = kNone;
    --n_;
  }

  void clear() {
    cells_ = {};
    n_ = 0;
  }
  size_t n_bytes() const { return cells_.capacity() * sizeof(uint32_t); }

 private:
  size_t mask() const { return cells_.size() - 1; }
  size_t home(uint64_t key) const { return static_cast<size_t>(key) & mask(); }
  size_t next(size_t at) const { return (at + 1) & mask(); }

  template <class KeyOf>
  void place(uint32_t slot, const KeyOf& key_of) {
    size_t at = home(key_of(slot));
    while (cells_[at] != kNone) at = next(at);
    cells_[at] = slot;
  }
  template <class KeyOf>
  void grow(const KeyOf& key_of) {
    std::vector<uint32_t> old(cells_.empty() ? 16 : 2 * cells_.size(), kNone);
    old.swap(cells_);
    for (const uint32_t slot : old)
      if (slot != kNone) place(slot, key_of);
  }

  std::vector<uint32_t> cells_;  // a power of two of them
  size_t n_ = 0;
};

}  // namespace pando
