// Finds the replicas that hold a piece.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "schedule/pieces.h"
#include "schedule/slot_table.h"

namespace pando {

using ReplicaId = uint32_t;

// A few holders of a piece are listed; more are a set of bits, so that a beginning that every
// replica holds costs a few words for each piece. One thread.
class PieceIndex {
 public:
  static constexpr size_t kMostReplicas = size_t{1} << 16;

  // The replica, below kMostReplicas, does not hold the piece yet.
  void add(Piece piece, ReplicaId replica);
  // The replica holds the piece.
  void remove(Piece piece, ReplicaId replica);

  // n_leading: for each replica by id, the number of leading pieces that it holds. Holders have ids
  // below its size.
  void count_leading(std::span<const Piece> pieces, std::span<uint32_t> n_leading) const;

  size_t n_pieces() const { return n_pieces_; }
  size_t n_bytes() const;

 private:
  using Bits = std::vector<uint64_t>;  // by id
  static constexpr size_t kFew = 6;
  struct Entry {
    Piece piece = 0;
    std::unique_ptr<Bits> many;  // instead of `few`
    uint32_t n = 0;              // holders
    std::array<uint16_t, kFew> few;
  };
  // Sets the bit of each holder, and clears all others.
  static void read_holders(const Entry& entry, std::span<uint64_t> bits);
  auto key_of() const {
    return [this](uint32_t entry) { return entries_[entry].piece; };
  }

  std::vector<Entry> entries_;
  std::vector<uint32_t> free_;  // entries
  SlotTable table_;
  size_t n_pieces_ = 0;
  size_t n_words_ = 0;  // of all sets of bits
};

}  // namespace pando
