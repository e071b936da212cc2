// A bijection of 64 bits that mixes all of them: the finaliser of splitmix64 (Steele et al., 2014).
// Counter-based randomness everywhere is made of it.
#pragma once

#include <cstdint>

namespace pando {

constexpr uint64_t mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace pando
