#include "schedule/pieces.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <random>
#include <string>

namespace pando {
namespace {

std::string random_text(std::mt19937& rng, size_t n) {
  std::string text(n, ' ');
  for (char& character : text) character = static_cast<char>(rng());
  return text;
}

TEST(Pieces, EachIsTheHashOfItsBytesSeededWithTheOneBefore) {
  const std::string text = std::string(256, 'a') + std::string(256, 'b') + std::string(255, 'c');
  const Piece first = XXH3_64bits_withSeed(text.data(), 256, 7);
  const Piece second = XXH3_64bits_withSeed(text.data() + 256, 256, first);
  EXPECT_EQ(pieces_of(text, 7), (std::vector<Piece>{first, second}));
  EXPECT_TRUE(pieces_of(text.substr(0, 255), 7).empty());
}

TEST(Pieces, HowBytesAreDividedDoesNotMatter) {
  std::mt19937 rng(1);
  for (int round = 0; round < 200; ++round) {
    const std::string text = random_text(rng, rng() % 2000);
    PieceHasher hasher(3);
    for (size_t at = 0; at < text.size();) {
      const size_t n = std::min<size_t>(text.size() - at, rng() % (rng() % 2 == 0 ? 600 : 20));
      hasher.add(std::string_view(text).substr(at, n));
      at += n;
      ASSERT_EQ(hasher.n_bytes(), at);
    }
    ASSERT_EQ(hasher.pieces(), pieces_of(text, 3));
    ASSERT_EQ(hasher.pieces().size(), text.size() / kPieceBytes);
  }
}

TEST(Pieces, TextsHaveThoseOfTheirCommonBeginningAlone) {
  std::mt19937 rng(2);
  const std::string text = random_text(rng, 2048);
  std::string other = text;
  other[1000] ^= 1;  // in the fourth piece
  const std::vector<Piece> a = pieces_of(text), b = pieces_of(other);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i] == b[i], i < 3) << i;
}

TEST(Pieces, OwnersShareNone) {
  const std::string text(1024, 'a');
  const std::vector<Piece> a = pieces_of(text, 1), b = pieces_of(text, 2);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NE(a[i], b[i]);
}

}  // namespace
}  // namespace pando
