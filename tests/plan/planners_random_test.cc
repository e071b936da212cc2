// Every planner on random trees and steps: rows, slots, outputs and attention tasks by brute force.
#include <gtest/gtest.h>

#include "plan/random_plans.h"

namespace pando {
namespace {

std::unique_ptr<Planner> make_planner(std::string_view name, int tile_len) {
  return name == "tree"     ? make_tree_planner(tile_len)
         : name == "packed" ? make_packed_planner(tile_len)
                            : make_prefix_cached_planner(tile_len);
}

class PlannersRandom
    : public ::testing::TestWithParam<std::tuple<const char*, RandomCacheOptions, int>> {};

TEST_P(PlannersRandom, PlansAreRight) {
  const auto& [name, options, pages_per_tile] = GetParam();
  const int tile_len = options.page_len * pages_per_tile;
  const std::unique_ptr<Planner> planner = make_planner(name, tile_len);
  RandomPlans plans(options, *planner, tile_len);
  plans.run(20'000);
  EXPECT_GT(plans.counts().steps, 200);
  EXPECT_GT(plans.n_recomputed(), 50);
  if (planner->shares_tokens()) {
    EXPECT_GT(plans.counts().fan_outs, 10);
  }
  if (planner->name() == "tree") {
    EXPECT_GT(plans.n_joined(), 10);
  } else {
    EXPECT_EQ(plans.n_joined(), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, PlannersRandom,
    ::testing::Combine(
        ::testing::Values("tree", "packed", "prefix_cached"),
        ::testing::Values(RandomCacheOptions{.seed = 1, .n_pages = 20, .n_keys = 1},
                          RandomCacheOptions{
                              .seed = 2, .n_pages = 40, .alphabet = 3, .n_sequences = 16},
                          RandomCacheOptions{.seed = 3, .page_len = 2, .n_pages = 30}),
        ::testing::Values(1, 2, 4)));

}  // namespace
}  // namespace pando
