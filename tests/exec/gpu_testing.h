// Kernels of a GPU, emulated on the CPU.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <vector>

#include "exec/gpu/emulated_host.h"
#include "exec/gpu/rows.h"

namespace pando::exec::gpu {

inline constexpr ThreadOrder kOrders[] = {ThreadOrder::kForward, ThreadOrder::kBackward,
                                          ThreadOrder::kShuffled};

inline Rows rows_of(Host& host, const std::vector<float>& values, uint32_t n) {
  Rows rows;
  rows.resize(host, n, values.size() / n);
  host.write(rows.values, 0, values.data(), values.size() * sizeof(float));
  return rows;
}

inline std::vector<float> values_of(Host& host, const Rows& rows) {
  std::vector<float> values(rows.n * rows.width);
  host.read(rows.values, 0, values.data(), values.size() * sizeof(float));
  return values;
}

// Expects that `answer`, which runs kernels and gives floats, needs every barrier that it meets: if
// it is left out, the bits differ in some order, or threads do not meet.
template <class Answer>
void expect_barriers_needed(EmulatedHost& host, const Answer& answer) {
  take_barriers_met();
  const std::vector<float> right = answer();
  const std::vector<int> barriers = take_barriers_met();
  EXPECT_FALSE(barriers.empty());
  for (const int barrier : barriers) {
    bool is_found = false;
    for (const ThreadOrder order : kOrders) try {
        host.set_options({.order = order, .removed_barrier = barrier});
        const std::vector<float> other = answer();
        is_found |= std::memcmp(right.data(), other.data(), right.size() * sizeof(float)) != 0;
      } catch (const std::runtime_error&) {
        is_found = true;
      }
    EXPECT_TRUE(is_found) << "barrier " << barrier;
  }
  host.set_options({});
}

}  // namespace pando::exec::gpu
