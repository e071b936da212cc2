#include "schedule/piece_index.h"

#include <algorithm>
#include <bit>

namespace pando {

void PieceIndex::add(Piece piece, ReplicaId replica) {
  uint32_t found = table_.find(piece, key_of());
  if (found == SlotTable::kNone) {
    if (free_.empty()) {
      free_.push_back(static_cast<uint32_t>(entries_.size()));
      entries_.emplace_back();
    }
    found = free_.back();
    free_.pop_back();
    entries_[found].piece = piece;
    table_.add(found, key_of());
    ++n_pieces_;
  }
  Entry& entry = entries_[found];
  if (!entry.many && entry.n < kFew) {
    entry.few[entry.n++] = static_cast<uint16_t>(replica);
    return;
  }
  const auto set = [&](ReplicaId holder) {
    if (entry.many->size() <= holder / 64) {
      n_words_ += holder / 64 + 1 - entry.many->size();
      entry.many->resize(holder / 64 + 1);
    }
    (*entry.many)[holder / 64] |= uint64_t{1} << (holder % 64);
  };
  if (!entry.many) {
    entry.many = std::make_unique<Bits>();
    for (const uint16_t holder : entry.few) set(holder);
  }
  set(replica);
  ++entry.n;
}

void PieceIndex::remove(Piece piece, ReplicaId replica) {
  const uint32_t found = table_.find(piece, key_of());
  Entry& entry = entries_[found];
  --entry.n;
  if (entry.many) {
    (*entry.many)[replica / 64] &= ~(uint64_t{1} << (replica % 64));
  } else {
    *std::ranges::find(entry.few, static_cast<uint16_t>(replica)) = entry.few[entry.n];
  }
  if (entry.n > 0) return;
  if (entry.many) n_words_ -= entry.many->size();
  entry.many.reset();
  table_.remove(piece, key_of());
  free_.push_back(found);
  --n_pieces_;
}

void PieceIndex::count_leading(std::span<const Piece> pieces, std::span<uint32_t> n_leading) const {
  const auto set = [&](size_t word, uint64_t bits, uint32_t n) {
    for (; bits != 0; bits &= bits - 1) {
      const size_t replica = 64 * word + static_cast<size_t>(std::countr_zero(bits));
      if (replica < n_leading.size()) n_leading[replica] = n;
    }
  };
  // Replicas that hold all pieces so far: everybody at first.
  Bits holders((n_leading.size() + 63) / 64, ~uint64_t{0}), next(holders.size());
  uint32_t n = 0;
  for (; n < pieces.size(); ++n) {
    const uint32_t found = table_.find(pieces[n], key_of());
    if (found == SlotTable::kNone) break;
    read_holders(entries_[found], next);
    for (size_t word = 0; word < next.size(); ++word) {
      next[word] &= holders[word];
      set(word, holders[word] & ~next[word], n);
    }
    std::swap(holders, next);
  }
  for (size_t word = 0; word < holders.size(); ++word) set(word, holders[word], n);
}

void PieceIndex::read_holders(const Entry& entry, std::span<uint64_t> bits) {
  std::ranges::fill(bits, 0);
  if (entry.many) {
    std::copy_n(entry.many->begin(), std::min(entry.many->size(), bits.size()), bits.begin());
    return;
  }
  for (uint32_t i = 0; i < entry.n; ++i)
    bits[entry.few[i] / 64] |= uint64_t{1} << (entry.few[i] % 64);
}

size_t PieceIndex::n_bytes() const {
  return entries_.capacity() * sizeof(Entry) + free_.capacity() * sizeof(uint32_t) +
         n_words_ * sizeof(uint64_t) + table_.n_bytes();
}

}  // namespace pando
