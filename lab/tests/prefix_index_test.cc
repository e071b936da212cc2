// The maps of RadixMLP: published vectors, and random batches by brute force.
#include "lab/techniques/prefix_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>

namespace pando::lab {
namespace {

using Indices = std::vector<uint32_t>;

struct Batch {
  std::vector<Token> ids;
  Indices positions, cu_seq_lens = {0};

  void add(const std::vector<Token>& tokens, uint32_t first_position = 0) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      ids.push_back(tokens[i]);
      positions.push_back(first_position + static_cast<uint32_t>(i));
    }
    cu_seq_lens.push_back(static_cast<uint32_t>(ids.size()));
  }
  PrefixIndex index() const { return build_prefix_index(ids, positions, cu_seq_lens); }
};

// A trie of tokens, one by one.
PrefixIndex brute_force(const Batch& batch) {
  PrefixIndex index;
  std::map<std::vector<std::pair<Token, uint32_t>>, uint32_t> row_of;  // by the whole past
  for (size_t s = 0; s + 1 < batch.cu_seq_lens.size(); ++s) {
    std::vector<std::pair<Token, uint32_t>> past;
    for (uint32_t i = batch.cu_seq_lens[s]; i < batch.cu_seq_lens[s + 1]; ++i) {
      past.emplace_back(batch.ids[i], batch.positions[i]);
      const auto [entry, added] =
          row_of.try_emplace(past, static_cast<uint32_t>(index.gather.size()));
      if (added) index.gather.push_back(i);
      index.scatter.push_back(entry->second);
    }
  }
  return index;
}

// --- the vectors of RadixMLP's own tests ---------------------------------------------------------

TEST(PrefixIndex, SharedPrefix) {
  const PrefixIndex index = build_prefix_index(std::vector<Token>{1, 2, 3, 1, 2, 4},
                                               Indices{0, 1, 2, 0, 1, 2}, Indices{0, 3, 6});
  EXPECT_EQ(index.gather, (Indices{0, 1, 2, 5}));
  EXPECT_EQ(index.scatter, (Indices{0, 1, 2, 0, 1, 3}));
}

TEST(PrefixIndex, EqualTokensAtOtherPositions) {
  const PrefixIndex index =
      build_prefix_index(std::vector<Token>{1, 2, 1, 2}, Indices{0, 1, 2, 3}, Indices{0, 2, 4});
  EXPECT_EQ(index.gather.size(), 4u);
}

TEST(PrefixIndex, OneTokenEach) {
  const PrefixIndex index =
      build_prefix_index(std::vector<Token>{1, 2, 1}, Indices{0, 0, 0}, Indices{0, 1, 2, 3});
  EXPECT_EQ(index.scatter, (Indices{0, 1, 0}));
}

TEST(PrefixIndex, BranchesAtTwoDepths) {
  Batch batch;
  batch.add({1, 2, 3, 4});
  batch.add({1, 2, 5, 6});
  batch.add({1, 2, 3, 7});
  const PrefixIndex index = batch.index();
  EXPECT_EQ(index.gather, (Indices{0, 1, 2, 3, 6, 7, 11}));
  EXPECT_EQ(index.scatter, (Indices{0, 1, 2, 3, 0, 1, 4, 5, 0, 1, 2, 6}));
}

TEST(PrefixIndex, GivenPositions) {
  Batch batch;
  batch.add({1, 2, 3, 4, 5, 6, 7});
  batch.add({1, 2, 3});
  batch.add({5, 6, 7, 8, 9}, 3);
  EXPECT_EQ(batch.index().gather.size(), 12u);
}

// --- edges ---------------------------------------------------------------------------------------

TEST(PrefixIndex, NothingAtAll) {
  const PrefixIndex index = build_prefix_index({}, {}, Indices{0});
  EXPECT_TRUE(index.gather.empty() && index.scatter.empty());
}

TEST(PrefixIndex, EmptySequencesAndPrefixesOfOneAnother) {
  Batch batch;
  batch.add({});
  batch.add({4, 4, 4});
  batch.add({});
  batch.add({4});
  batch.add({4, 4, 4, 4});
  const PrefixIndex index = batch.index();
  EXPECT_EQ(index.gather, (Indices{0, 1, 2, 7}));
  EXPECT_EQ(index.scatter, (Indices{0, 1, 2, 0, 0, 1, 2, 3}));
}

TEST(PrefixIndex, ManyChildrenOfOneNode) {
  Batch batch;
  for (Token token = 0; token < 3000; ++token) batch.add({7, token % 1000, token});
  EXPECT_EQ(batch.index().gather.size(), 1u + 1000 + 3000);
}

TEST(PrefixIndex, RandomBatches) {
  PrefixIndexer indexer;  // with memory left from other batches
  std::mt19937_64 rng(1);
  const auto below = [&](uint64_t n) { return rng() % n; };
  for (int round = 0; round < 1500; ++round) {
    Batch batch;
    std::vector<std::vector<Token>> sequences;
    const uint64_t alphabet = below(2) == 0 ? 2 : 50, longest = below(10) == 0 ? 300 : 12;
    for (uint64_t n = below(12); n > 0; --n) {
      std::vector<Token> tokens;
      if (!sequences.empty() && below(5) > 0) {
        tokens = sequences[below(sequences.size())];
        tokens.resize(below(tokens.size() + 1));
      }
      for (uint64_t more = below(longest); more > 0; --more)
        tokens.push_back(static_cast<Token>(below(alphabet)));
      batch.add(tokens, below(4) == 0 ? static_cast<uint32_t>(below(3)) : 0);
      sequences.push_back(std::move(tokens));
    }
    if (!batch.ids.empty() && below(4) == 0)  // a gap in the positions
      batch.positions[below(batch.ids.size())] += 100;
    const PrefixIndex expected = brute_force(batch);
    const PrefixIndex& found = indexer.build(batch.ids, batch.positions, batch.cu_seq_lens);
    ASSERT_EQ(found.gather, expected.gather) << "round " << round;
    ASSERT_EQ(found.scatter, expected.scatter) << "round " << round;
  }
}

}  // namespace
}  // namespace pando::lab
