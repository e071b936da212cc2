#include "schedule/piece_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "schedule/random_prompts.h"

namespace pando {
namespace {

using NaiveHolders = std::map<Piece, std::set<ReplicaId>>;

uint32_t n_leading_of(const NaiveHolders& holders, const std::vector<Piece>& pieces,
                      ReplicaId replica) {
  uint32_t n = 0;
  for (; n < pieces.size(); ++n) {
    const auto found = holders.find(pieces[n]);
    if (found == holders.end() || !found->second.contains(replica)) break;
  }
  return n;
}

// Few replicas, so that all holders are listed, and many, so that they become sets of bits.
TEST(PieceIndex, EqualsANaiveModel) {
  std::mt19937 rng(1);
  for (const uint32_t n_replicas : {1u, 5u, 64u, 150u}) {
    PieceIndex index;
    NaiveHolders naive;
    for (int i = 0; i < 6000; ++i) {
      const auto replica = static_cast<ReplicaId>(rng() % n_replicas);
      for (const Piece piece : testing::random_prompt(rng, 4)) {
        std::set<ReplicaId>& holders = naive[piece];
        if (holders.contains(replica)) {
          if (i / 1000 % 2 == 0 && rng() % 4 > 0) continue;  // grows in turn with shrinking
          index.remove(piece, replica);
          holders.erase(replica);
          if (holders.empty()) naive.erase(piece);
        } else {
          index.add(piece, replica);
          holders.insert(replica);
        }
      }
      ASSERT_EQ(index.n_pieces(), naive.size());
      if (i % 10 > 0) continue;
      const std::vector<Piece> prompt = testing::random_prompt(rng, 6);
      std::vector<uint32_t> n_leading(n_replicas, 99);
      index.count_leading(prompt, n_leading);
      for (ReplicaId id = 0; id < n_replicas; ++id)
        ASSERT_EQ(n_leading[id], n_leading_of(naive, prompt, id)) << id << " of " << n_replicas;
    }
    for (const auto& [piece, holders] : naive)
      for (const ReplicaId replica : holders) index.remove(piece, replica);
    EXPECT_EQ(index.n_pieces(), 0u);
  }
}

}  // namespace
}  // namespace pando
