// Pieces of prompts that a cache is believed to hold: the most recently used ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/pieces.h"
#include "schedule/slot_table.h"

namespace pando {

// A piece that is held from now on, or no longer.
struct HeldChange {
  Piece piece = 0;
  bool is_added = false;
};
using HeldChanges = std::vector<HeldChange>;

// Held pieces for somebody who knew those of an earlier version.
struct HeldDigest {
  uint64_t version = 0;       // to ask with next time
  bool reset = false;         // true: `pieces` replace all that was known
  std::vector<Piece> pieces;  // the most recently used first
};

// Least recently used pieces are dropped first; of one prompt the last, as caches drop leaves.
// About 45 bytes for each piece. One thread.
class HeldPieces {
 public:
  static constexpr size_t kMostReported = 4096;

  // capacity: pieces, below 2^32.
  explicit HeldPieces(size_t capacity) : capacity_(capacity) {}

  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  // Drops pieces beyond the new capacity.
  void set_capacity(size_t capacity, HeldChanges* changes = nullptr);

  // Number of leading pieces of a prompt that are held.
  size_t n_leading(std::span<const Piece> pieces) const;
  bool contains(Piece piece) const { return find(piece) != SlotTable::kNone; }

  // A prompt was used: its pieces are held from now on, as many leading ones as fit. now: seconds,
  // never falling. `changes` are appended.
  void touch(std::span<const Piece> pieces, double now, HeldChanges* changes = nullptr);
  void clear(HeldChanges* changes = nullptr);

  bool is_full() const { return size_ >= capacity_; }
  // Time at which the piece that is dropped next was last used. There must be a piece.
  double oldest() const { return slots_[last_].used; }

  // Pieces that were added after a version and are still held. For version 0, for an unknown one,
  // and if more than `most` were added: a whole list, the `most` most recently used ones.
  HeldDigest since(uint64_t version, size_t most = kMostReported) const;

  size_t n_bytes() const { return slots_.capacity() * sizeof(Slot) + table_.n_bytes(); }

 private:
  struct Slot {
    Piece piece;
    double used;      // seconds
    uint64_t added;   // version
    uint32_t before;  // more recently used; kNone: none. Of a free slot: unused
    uint32_t after;   // less recently used; kNone: none. Of a free slot: the next free one
  };
  auto key_of() const {
    return [this](uint32_t slot) { return slots_[slot].piece; };
  }
  uint32_t find(Piece piece) const { return table_.find(piece, key_of()); }
  uint32_t take_slot();
  void link_first(uint32_t slot);
  void unlink(uint32_t slot);
  void remove(uint32_t slot, HeldChanges* changes);

  size_t capacity_;
  size_t size_ = 0;
  uint64_t version_ = 0;  // pieces added so far
  std::vector<Slot> slots_;
  SlotTable table_;
  uint32_t free_ = SlotTable::kNone;
  uint32_t first_ = SlotTable::kNone, last_ = SlotTable::kNone;  // most and least recently used
};

}  // namespace pando
