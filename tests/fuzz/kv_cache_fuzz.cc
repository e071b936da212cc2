// Operations on a small cache of keys and values, chosen by the input: tree, page pool and copies,
// with everything that is checked after random operations.
#include "cache/random_cache.h"
#include "fuzz/fuzz.h"

using namespace pando;

constexpr size_t kMostBytes = 1000;  // everything is checked after every operation

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  GTEST_FLAG_SET(throw_on_failure, true);
  Choices choices{std::span(data, std::min(size, kMostBytes))};
  RandomCacheOptions options;
  options.page_len = 1 + static_cast<int>(choices.below(8));
  options.n_pages = 1 + choices.below(24);
  options.alphabet = 1 + static_cast<int>(choices.below(3));
  options.n_keys = static_cast<int>(choices.below(3));
  options.n_sequences = 1 + choices.below(12);
  RandomCache(options, choices).run();
  return 0;
}
