#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <cstdlib>
#include <latch>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace pando {
namespace {

TEST(ThreadPool, EveryItemOnce) {
  for (const int n_threads : {1, 2, 5}) {
    ThreadPool pool(n_threads);
    EXPECT_EQ(pool.n_threads(), n_threads);
    for (const int64_t n_items : {0, 1, 2, 7, 1000}) {
      std::vector<int> n_calls(n_items);  // no two threads have one item
      pool.parallel_for(n_items, [&](int64_t item, int worker) {
        ASSERT_TRUE(worker >= 0 && worker < n_threads);
        ++n_calls[item];
      });
      EXPECT_EQ(n_calls, std::vector<int>(n_items, 1)) << n_threads << " threads";
    }
  }
}

TEST(ThreadPool, EveryItemOfRunsRunsOnce) {
  for (const int n_threads : {1, 2, 5}) {
    ThreadPool pool(n_threads);
    for (const int64_t n_items : {0, 1, 2, 7, 1000}) {
      std::vector<int> n_calls(n_items);
      pool.parallel_runs(n_items, [&](int64_t item, int) { ++n_calls[item]; });
      EXPECT_EQ(n_calls, std::vector<int>(n_items, 1)) << n_threads << " threads";
    }
  }
}

TEST(ThreadPool, WorkersKeepToTheirRunsAndEndThoseOfOthers) {
  constexpr int64_t kItems = 1000;
  for (const int n_threads : {2, 5}) {
    ThreadPool pool(n_threads);
    std::latch all_here(n_threads);
    std::atomic<int64_t> n_done = 0;
    std::vector<std::vector<int64_t>> of_worker(n_threads);
    pool.parallel_runs(kItems, [&](int64_t item, int worker) {
      of_worker[worker].push_back(item);
      if (of_worker[worker].size() == 1) {
        all_here.arrive_and_wait();
        // The last one has no more than this item.
        while (worker == n_threads - 1 && n_done < kItems - 1) std::this_thread::yield();
      }
      ++n_done;
    });
    EXPECT_EQ(of_worker.back().size(), 1u);
    for (int worker = 0; worker < n_threads; ++worker) {
      const std::vector<int64_t>& items = of_worker[worker];
      const int64_t begin = worker * kItems / n_threads;
      EXPECT_EQ(items.front(), begin) << "worker " << worker << " of " << n_threads;
      // A thread's own items come before those of others, who may have ended the loop by then.
      for (size_t i = 1; i < items.size(); ++i)
        if (items[i] >= begin && items[i] < (worker + 1) * kItems / n_threads) {
          EXPECT_GT(items[i], items[i - 1]) << "worker " << worker << " of " << n_threads;
        }
    }
  }
}

TEST(ThreadPool, AFailureEndsRunsToo) {
  ThreadPool alone(1);
  int64_t n_until = 0;
  const auto fail_at_700 = [&](int64_t item, int) {
    if (item == 700) throw std::runtime_error("item 700");
    ++n_until;
  };
  EXPECT_THROW(alone.parallel_runs(1000, fail_at_700), std::runtime_error);
  EXPECT_EQ(n_until, 700);
  ThreadPool pool(3);
  EXPECT_THROW(pool.parallel_runs(1000,
                                  [](int64_t item, int) {
                                    if (item == 700) throw std::runtime_error("item 700");
                                  }),
               std::runtime_error);
  std::atomic<int64_t> n_calls = 0;
  pool.parallel_runs(1000, [&](int64_t, int) { ++n_calls; });
  EXPECT_EQ(n_calls, 1000);
}

// The values that a loop wrote are visible to the next, whichever thread runs it.
TEST(ThreadPool, LoopsFollowEachOther) {
  ThreadPool pool(3);
  std::vector<int64_t> values(64);
  for (int loop = 0; loop < 300; ++loop)
    pool.parallel_for(64, [&](int64_t item, int) { values[63 - item] += item; });
  int64_t sum = 0;
  for (const int64_t value : values) sum += value;
  EXPECT_EQ(sum, 300 * 64 * 63 / 2);
}

TEST(ThreadPool, AFailureComesToTheCallerAndEndsTheLoop) {
  ThreadPool pool(3);
  for (const int64_t bad : {0, 5, 99'999}) {
    std::atomic<int64_t> n_calls = 0;
    try {
      pool.parallel_for(100'000, [&](int64_t item, int) {
        ++n_calls;
        if (item == bad) throw std::runtime_error("item " + std::to_string(item));
      });
      FAIL() << bad;
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(), "item " + std::to_string(bad));
    }
    EXPECT_GT(n_calls, bad);
    std::atomic<int64_t> n_after = 0;
    pool.parallel_for(10, [&](int64_t, int) { ++n_after; });
    EXPECT_EQ(n_after, 10);
  }
}

// Many more workers than processors, and loops too short for all of them to come in time.
TEST(ThreadPool, WorkersThatComeLateMissTheLoop) {
  for (int round = 0; round < 20; ++round) {
    ThreadPool pool(33);
    int64_t sum = 0;
    std::vector<int64_t> squares(4);
    for (int loop = 0; loop < 500; ++loop) {
      pool.parallel_for(4, [&](int64_t item, int) { squares[item] = item * loop; });
      for (const int64_t square : squares) sum += square;
    }
    EXPECT_EQ(sum, 6 * 499 * 500 / 2);
  }
}

TEST(ThreadPool, OfSeveralFailuresOneIsThrown) {
  ThreadPool pool(4);
  for (int loop = 0; loop < 50; ++loop)
    EXPECT_THROW(pool.parallel_for(
                     64, [](int64_t item, int) { throw std::runtime_error(std::to_string(item)); }),
                 std::runtime_error);
}

TEST(ThreadPool, EveryThreadRoundsToNearest) {
  std::fesetround(FE_UPWARD);
  ThreadPool pool(3);
  std::vector<int> modes(100, -1);
  std::vector<double> tenths(100);  // as read from text
  pool.parallel_for(100, [&](int64_t item, int) {
    modes[item] = std::fegetround();
    tenths[item] = std::strtod("0.7", nullptr);
  });
  const int after = std::fegetround();
  const double upward = std::strtod("0.7", nullptr);
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(after, FE_UPWARD);
  EXPECT_GT(upward, 0.7);  // the C library does follow the mode
  EXPECT_EQ(modes, std::vector<int>(100, FE_TONEAREST));
  EXPECT_EQ(tenths, std::vector<double>(100, 0.7));
}

}  // namespace
}  // namespace pando
