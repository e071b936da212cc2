// Random use of the cache: copy on write, shared tails, fan-outs and evictions leave every path
// with exactly its own keys and values.
#include <gtest/gtest.h>

#include "cache/random_cache.h"

namespace pando {
namespace {

class KvCacheRandom : public ::testing::TestWithParam<RandomCacheOptions> {};

TEST_P(KvCacheRandom, EveryPathFindsItsOwnKeysAndValues) {
  RandomCache cache(GetParam());
  cache.run(n_random_operations(30'000));
  const RandomCacheCounts& counts = cache.counts();
  // All of it was tried.
  EXPECT_GT(counts.copies, 100);
  EXPECT_GT(counts.fan_outs, 30);
  EXPECT_GT(counts.refused, 50);
  EXPECT_GT(counts.locked_by_extend, 3);
  EXPECT_GT(counts.with_public, 100);
  if (GetParam().depth > 1) {
    EXPECT_GT(counts.several_aborted, 30);
    EXPECT_GT(cache.cache().n_evicted_pages(), 100u);
    return;
  }
  EXPECT_GT(counts.steps, 1000);
  EXPECT_GT(counts.alone, 50);
  EXPECT_GT(counts.compacted, 10);
  EXPECT_GT(cache.cache().n_evicted_pages(), 1000u);
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, KvCacheRandom,
    ::testing::Values(
        RandomCacheOptions{.seed = 1, .n_pages = 12}, RandomCacheOptions{.seed = 7, .n_pages = 4},
        RandomCacheOptions{.seed = 3, .n_pages = 24, .n_keys = 1, .n_sequences = 16},
        RandomCacheOptions{.seed = 4, .n_pages = 10, .alphabet = 3},
        RandomCacheOptions{.seed = 5, .page_len = 8, .n_pages = 6},
        RandomCacheOptions{.seed = 6, .page_len = 2, .n_pages = 20},
        RandomCacheOptions{.seed = 8, .n_pages = 20, .n_parts = 2, .pages_each = 2},
        RandomCacheOptions{.seed = 9, .n_pages = 21, .n_parts = 3, .pages_each = 1},
        RandomCacheOptions{.seed = 11, .n_pages = 12, .depth = 2},
        RandomCacheOptions{.seed = 12, .n_pages = 24, .n_keys = 1, .n_sequences = 16, .depth = 4},
        RandomCacheOptions{.seed = 13, .page_len = 8, .n_pages = 10, .depth = 3},
        RandomCacheOptions{.seed = 14, .n_pages = 20, .n_parts = 2, .pages_each = 2, .depth = 3},
        RandomCacheOptions{
            .seed = 10, .page_len = 2, .n_pages = 18, .n_parts = 2, .pages_each = 4}));

}  // namespace
}  // namespace pando
