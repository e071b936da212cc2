// Operations on a prefix tree, chosen by the input, against a map of prefixes.
#include "cache/random_tree.h"
#include "fuzz/fuzz.h"

using namespace pando;

constexpr size_t kMostBytes = 1000;  // everything is checked after every operation

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  GTEST_FLAG_SET(throw_on_failure, true);
  Choices choices{std::span(data, std::min(size, kMostBytes))};
  const int alphabet = 1 + static_cast<int>(choices.below(3));
  const int n_keys = 1 + static_cast<int>(choices.below(2));
  RandomTree(choices, alphabet, n_keys).run();
  return 0;
}
