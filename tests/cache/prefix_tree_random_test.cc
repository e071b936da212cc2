#include "cache/random_tree.h"

namespace pando {
namespace {

TEST(PrefixTreeRandom, TwoTokens) {
  RandomTree(Choices(1), 2, 1).run(n_random_operations(100'000));
}
TEST(PrefixTreeRandom, ThreeTokensTwoKeys) {
  RandomTree(Choices(2), 3, 2).run(n_random_operations(100'000));
}
TEST(PrefixTreeRandom, OneToken) { RandomTree(Choices(3), 1, 1).run(20'000); }

}  // namespace
}  // namespace pando
