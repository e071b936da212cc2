#include "schedule/pieces.h"

#include <xxhash.h>

#include <algorithm>

namespace pando {

void PieceHasher::add(std::string_view bytes) {
  if (n_rest_ > 0) {
    const size_t n = std::min(bytes.size(), kPieceBytes - n_rest_);
    std::ranges::copy(bytes.substr(0, n), rest_.begin() + n_rest_);
    n_rest_ += n;
    bytes.remove_prefix(n);
    if (n_rest_ < kPieceBytes) return;
    end_piece(rest_.data());
  }
  for (; bytes.size() >= kPieceBytes; bytes.remove_prefix(kPieceBytes)) end_piece(bytes.data());
  std::ranges::copy(bytes, rest_.begin());
  n_rest_ = bytes.size();
}

void PieceHasher::end_piece(const char* bytes) {
  hash_ = XXH3_64bits_withSeed(bytes, kPieceBytes, hash_);
  pieces_.push_back(hash_);
}

std::vector<Piece> pieces_of(std::string_view bytes, uint64_t owner) {
  PieceHasher hasher(owner);
  hasher.add(bytes);
  return hasher.pieces();
}

}  // namespace pando
