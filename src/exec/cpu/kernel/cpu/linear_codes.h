// Integers of 4, 5 and 6 bits, out of the vectors of a group (linear_layout.h), over a sixteen-lane
// type S.
#pragma once

#include "base/numbers/group_form.h"
#include "exec/cpu/kernel/cpu/linear_layout.h"

namespace pando::kernel {

template <class S, DType kType>
struct GroupCodes {
  static constexpr GroupForm kForm = group_form(kType);
  static constexpr int kHalves = kQuads / 2;  // vectors of halves
  // True if halves are the integers themselves, plus an offset.
  static constexpr bool kPlain = kForm.code_bits == 4 && !has_code_table(kType);

  // Integers + kForm.offset of the low or high halves of a vector, [16][4] u8. group: first vector
  // of a group in one strip; vectors are `stride` bytes apart.
  template <int kVector, bool kHigh>
  [[gnu::always_inline]] static typename S::Nibbles quad(const uint8_t* group, int64_t stride) {
    const uint8_t* halves = group + (upper_vectors(kType) + kVector) * stride;
    typename S::Nibbles w = kHigh ? S::load_high(halves) : S::load_low(halves);
    constexpr int kQuad = half_quad(kType, kVector, kHigh);
    if constexpr (has_code_table(kType)) w = S::look_up(w, code_table(kType));
    if constexpr (kForm.code_bits == 5) w = S::template with_bits<kQuad, 16>(w, group);
    if constexpr (kForm.code_bits == 6)
      w = S::template with_bits<2 * (kQuad % 4), 48>(w, group + kQuad / 4 * stride);
    return w;
  }

  // Calls use.template operator()<kQuad>(w) for the two quads of vectors [kVector, kEnd).
  template <int kVector = 0, int kEnd = kHalves, class Use>
  [[gnu::always_inline]] static void each_quad(const uint8_t* group, int64_t stride,
                                               const Use& use) {
    use.template operator()<half_quad(kType, kVector, false)>(quad<kVector, false>(group, stride));
    use.template operator()<half_quad(kType, kVector, true)>(quad<kVector, true>(group, stride));
    if constexpr (kVector + 1 < kEnd) each_quad<kVector + 1, kEnd>(group, stride, use);
  }
};

}  // namespace pando::kernel
