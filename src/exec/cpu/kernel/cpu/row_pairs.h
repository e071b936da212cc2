// Sums of integer products for two rows and two quads at a time. They use the small-matrix
// instruction of a sixteen-lane type S (S::kPairsRows). Integer sums are exact in any order.
#pragma once

#include <cstdint>

namespace pando::kernel {

template <class S, int kRows, int kStrips>
class RowPairs {
 public:
  [[gnu::always_inline]] RowPairs() {
#pragma GCC unroll 4
    for (auto& of_pair : sums_)
#pragma GCC unroll 3
      for (typename S::Products& sums : of_pair) sums = S::no_products();
  }

  // Adds the products of two quads of a strip. quad_i, quad_j: give the address of a row's four
  // activations for each.
  template <class QuadI, class QuadJ>
  [[gnu::always_inline]] void add(int strip, const typename S::Weights& at_i,
                                  const typename S::Weights& at_j, const QuadI& quad_i,
                                  const QuadJ& quad_j) {
    const typename S::Interleaved w = S::interleaved(at_i, at_j);
#pragma GCC unroll 4
    for (int pair = 0; pair < kPairs; ++pair) {
      const int first = 2 * pair, second = first + 1 < kRows ? first + 1 : first;
      const auto x = S::load_quads(quad_i(first), quad_j(first), quad_i(second), quad_j(second));
      sums_[pair][strip] = S::add_products(sums_[pair][strip], w, x);
    }
  }

  // The sums of a row, added to `dots`.
  [[gnu::always_inline]] typename S::I added_to(typename S::I dots, int row, int strip) const {
    return S::add_row(dots, sums_[row / 2][strip], row % 2);
  }

 private:
  static constexpr int kPairs = (kRows + 1) / 2;
  typename S::Products sums_[kPairs][kStrips];
};

}  // namespace pando::kernel
