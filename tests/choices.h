// Source of the decisions of a random test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <span>

namespace pando {

class Choices {
 public:
  explicit Choices(uint32_t seed) : rng_(seed) {}
  // Decisions from the bytes of a fuzzer, one or two bytes each; the first choice always when they
  // end.
  explicit Choices(std::span<const uint8_t> bytes) : from_bytes_(true), bytes_(bytes) {}

  // In [0, n); n is at least 1, and at most 65,536 where bytes choose.
  size_t below(size_t n) {
    if (!from_bytes_) return rng_() % n;
    const size_t low = byte();
    return (n <= 256 ? low : low | byte() << 8) % n;
  }
  // A generator never is.
  bool done() const { return from_bytes_ && bytes_.empty(); }

 private:
  size_t byte() {
    if (bytes_.empty()) return 0;
    const uint8_t first = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return first;
  }

  std::mt19937 rng_;
  bool from_bytes_ = false;
  std::span<const uint8_t> bytes_;
};

// Number of operations of a random test: a million if long tests are wanted.
inline int n_random_operations(int usual) {
  return std::getenv("PANDO_SLOW_TESTS") != nullptr ? 1'000'000 : usual;
}

}  // namespace pando
