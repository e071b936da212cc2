// Helpers: rows and lists on an emulated GPU, and kernels in every order of threads.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <exception>
#include <random>
#include <set>
#include <span>
#include <vector>

#include "exec/gpu/check_cases.h"
#include "exec/gpu/emulated_host.h"
#include "exec/gpu/rows.h"
#include "exec/gpu/values.h"
#include "exec/scalar/rows.h"

namespace pando::exec::gpu {

inline constexpr ThreadOrder kOrders[] = {ThreadOrder::kForward, ThreadOrder::kBackward,
                                          ThreadOrder::kShuffled};

inline std::vector<float> normal(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& v : values) v = normal(random);
  return values;
}

inline scalar::Rows random_rows(uint32_t n, size_t width, uint32_t seed) {
  scalar::Rows rows(n, width);
  rows.values = normal(n * width, seed);
  return rows;
}

inline Rows upload(Host& host, const scalar::Rows& from) {
  Rows rows;
  rows.resize(host, from.n, from.width);
  host.write(rows.values, 0, from.values.data(), from.values.size() * sizeof(float));
  return rows;
}

template <class T>
Buffer upload(Host& host, const std::vector<T>& from) {
  Buffer buffer(host, from.size() * sizeof(T));
  host.write(buffer, 0, from.data(), buffer.bytes());
  return buffer;
}

template <class T>
std::vector<T> download(Host& host, const Buffer& from, size_t n) {
  std::vector<T> values(n);
  host.read(from, 0, values.data(), n * sizeof(T));
  return values;
}

inline std::vector<float> download(Host& host, const Rows& rows) {
  return download<float>(host, rows.values, rows.n * rows.width);
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// Calls run(host) in all orders of threads and expects the bits of `expected`. Returns the numbers
// of the barriers that it meets.
template <class T, class Run>
std::set<int> expect_bits(const std::vector<T>& expected, const Run& run) {
  take_barriers_met();
  for (const ThreadOrder order : kOrders) {
    EmulatedHost host({.order = order});
    EXPECT_TRUE(same_bits(run(host), expected)) << "order " << static_cast<int>(order);
  }
  const std::vector<int> met = take_barriers_met();
  return {met.begin(), met.end()};
}

// True if, without this barrier, run(host) fails or gives other bits in some order.
template <class T, class Run>
bool needs_barrier(const std::vector<T>& expected, int barrier, const Run& run) {
  for (const ThreadOrder order : kOrders) {
    EmulatedHost host({.order = order, .removed_barrier = barrier});
    try {
      if (!same_bits(run(host), expected)) return true;
    } catch (const std::exception&) {
      return true;
    }
  }
  return false;
}

// Collects the barriers that tests of a kernel source meet, and the barriers that they need.
struct Barriers {
  std::set<int> met, needed;

  template <class T, class Run>
  void expect(const std::vector<T>& expected, const Run& run) {
    for (const int barrier : expect_bits(expected, run)) {
      met.insert(barrier);
      if (!needed.contains(barrier) && needs_barrier(expected, barrier, run))
        needed.insert(barrier);
    }
  }
};

// Runs the start test's cases of a kernel source in all orders of threads. Threads must meet each
// of its n_barriers, and the results must depend on it.
inline void expect_start_cases(void (*check)(CheckCases&), size_t n_barriers) {
  const auto run = [&](Host& host) {
    CheckCases cases(host, CheckSize::kStart);
    check(cases);
    std::vector<uint64_t> n_different;
    for (const KernelCheck& each : cases.take()) n_different.push_back(each.n_different);
    return n_different;
  };
  EmulatedHost host;
  Barriers barriers;
  barriers.expect(std::vector<uint64_t>(run(host).size()), run);
  EXPECT_EQ(barriers.met.size(), n_barriers);
  EXPECT_EQ(barriers.needed, barriers.met);
}

}  // namespace pando::exec::gpu
