// Beginnings of prompts as chained hashes, by which replicas are compared.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace pando {

// Hash of a prompt's bytes up to the end of one piece, and of its owner: equal pieces stand for
// equal beginnings. Not safe against made collisions, so a piece may only steer, never share.
using Piece = uint64_t;

constexpr size_t kPieceBytes = 256;
constexpr size_t kBytesPerToken = 4;  // assumed where no tokenizer has seen the text
constexpr double kPieceTokens = double{kPieceBytes} / kBytesPerToken;

// Makes pieces of bytes that come in parts; how they are divided does not matter. One thread.
class PieceHasher {
 public:
  // owner: isolation key; prompts of different owners have no piece in common.
  explicit PieceHasher(uint64_t owner = 0) : hash_(owner) {}

  void add(std::string_view bytes);
  // One for each whole kPieceBytes so far.
  const std::vector<Piece>& pieces() const { return pieces_; }
  // All bytes so far.
  uint64_t n_bytes() const { return kPieceBytes * pieces_.size() + n_rest_; }

 private:
  void end_piece(const char* bytes);

  Piece hash_;  // of the latest piece
  std::array<char, kPieceBytes> rest_;
  size_t n_rest_ = 0;  // bytes behind the latest piece
  std::vector<Piece> pieces_;
};

// Pieces of a whole text.
std::vector<Piece> pieces_of(std::string_view bytes, uint64_t owner = 0);

}  // namespace pando
