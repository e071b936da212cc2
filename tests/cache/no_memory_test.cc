// Memory that runs out in the middle of an operation of the cache.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "cache/random_cache.h"

namespace {

int n_left = -1;  // allocations until all fail; negative: none does

void* allocate(size_t n_bytes) {
  if (n_left == 0) throw std::bad_alloc();
  if (n_left > 0) --n_left;
  if (void* memory = std::malloc(n_bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(size_t n_bytes) { return allocate(n_bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace pando {
namespace {

// Each operation finds no memory at all, then enough for one allocation, for two and so on, until
// it needs no more; between that the cache is checked.
class CacheWithoutMemory : public RandomCache {
 public:
  using RandomCache::RandomCache;
  int n_failed() const { return n_failed_; }

 protected:
  void allocating(const Operation& operation) override {
    for (int n = 0;; ++n) {
      const size_t n_pinned = cache().tree().n_pinned_tokens();
      const size_t n_issued = n_issued_tokens();
      const size_t n_copies = cache().copies().size(), n_fan_outs = cache().fan_outs().size();
      if (succeeds(operation, n)) return;
      ++n_failed_;
      ASSERT_NO_THROW(cache().check_invariants());
      EXPECT_EQ(cache().tree().n_pinned_tokens(), n_pinned);
      EXPECT_EQ(n_issued_tokens(), n_issued);
      EXPECT_EQ(cache().copies().size(), n_copies);
      EXPECT_EQ(cache().fan_outs().size(), n_fan_outs);
    }
  }
  void without_memory(const Operation& operation) override { EXPECT_TRUE(succeeds(operation, 0)); }

 private:
  size_t n_issued_tokens() const {
    size_t n = 0;
    for (const Issued& issued : cache().issued())
      n += issued.node->n_issued - issued.node->n_submitted;
    return n;
  }

  static bool succeeds(const Operation& operation, int n_allocations) {
    n_left = n_allocations;
    bool done = true;
    try {
      operation();
    } catch (const std::bad_alloc&) {
      done = false;
    }
    n_left = -1;
    return done;
  }

  int n_failed_ = 0;
};

TEST(KvCacheWithoutMemory, NothingIsLostOrHeldTwice) {
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    CacheWithoutMemory cache({.seed = seed, .n_pages = seed % 2 == 0 ? 16u : 64u});
    cache.run(2000);
    EXPECT_GT(cache.n_failed(), 1000);
  }
}

}  // namespace
}  // namespace pando
