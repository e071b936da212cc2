#include "schedule/held_pieces.h"

#include <algorithm>
#include <utility>

namespace pando {

void HeldPieces::set_capacity(size_t capacity, HeldChanges* changes) {
  capacity_ = capacity;
  while (size_ > capacity_) remove(last_, changes);
}

size_t HeldPieces::n_leading(std::span<const Piece> pieces) const {
  const auto missing = std::ranges::find_if(pieces, [&](Piece piece) { return !contains(piece); });
  return static_cast<size_t>(missing - pieces.begin());
}

void HeldPieces::touch(std::span<const Piece> pieces, double now, HeldChanges* changes) {
  // The last piece first, so that it is dropped before the pieces that lead to it.
  for (size_t i = std::min(pieces.size(), capacity_); i-- > 0;) {
    const Piece piece = pieces[i];
    uint32_t slot = find(piece);
    if (slot != SlotTable::kNone) {
      unlink(slot);
    } else {
      if (is_full()) remove(last_, changes);
      slot = take_slot();
      slots_[slot].piece = piece;
      slots_[slot].added = ++version_;
      table_.add(slot, key_of());
      ++size_;
      if (changes != nullptr) changes->push_back({piece, true});
    }
    slots_[slot].used = now;
    link_first(slot);
  }
}

void HeldPieces::clear(HeldChanges* changes) {
  for (; size_ > 0;) remove(last_, changes);
  slots_ = {};
  free_ = SlotTable::kNone;
  table_.clear();
}

HeldDigest HeldPieces::since(uint64_t version, size_t most) const {
  HeldDigest digest{.version = version_, .reset = version == 0 || version > version_};
  const auto list = [&](uint64_t known, size_t n) {
    digest.pieces.clear();
    for (uint32_t slot = first_; slot != SlotTable::kNone && digest.pieces.size() < n;
         slot = slots_[slot].after)
      if (slots_[slot].added > known) digest.pieces.push_back(slots_[slot].piece);
  };
  if (!digest.reset) list(version, most + 1);
  if (digest.reset || digest.pieces.size() > most) {
    digest.reset = true;
    list(0, most);
  }
  return digest;
}

uint32_t HeldPieces::take_slot() {
  if (free_ == SlotTable::kNone) {
    slots_.emplace_back();
    return static_cast<uint32_t>(slots_.size() - 1);
  }
  const uint32_t slot = free_;
  free_ = slots_[slot].after;
  return slot;
}

void HeldPieces::link_first(uint32_t slot) {
  slots_[slot].before = SlotTable::kNone;
  slots_[slot].after = first_;
  (first_ == SlotTable::kNone ? last_ : slots_[first_].before) = slot;
  first_ = slot;
}

void HeldPieces::unlink(uint32_t slot) {
  const auto [before, after] = std::pair(slots_[slot].before, slots_[slot].after);
  (before == SlotTable::kNone ? first_ : slots_[before].after) = after;
  (after == SlotTable::kNone ? last_ : slots_[after].before) = before;
}

void HeldPieces::remove(uint32_t slot, HeldChanges* changes) {
  const Piece piece = slots_[slot].piece;
  unlink(slot);
  table_.remove(piece, key_of());
  slots_[slot].after = free_;
  free_ = slot;
  --size_;
  if (changes != nullptr) changes->push_back({piece, false});
}

}  // namespace pando
