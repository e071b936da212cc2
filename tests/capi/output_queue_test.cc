// Results of jobs wait for a slow consumer without end of memory.
#include "capi/output_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace pando::capi {
namespace {

class QueueRoom : public ::testing::Test {
 protected:
  // A thread that waits for room behind a megabyte that nobody took yet; notes whether that came
  // first.
  std::thread waiting() {
    output_.push(std::string(size_t{1} << 20, 'x'));
    std::thread thread([this] {
      output_.wait_for_room();
      waited_ = is_freed_.load();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    is_freed_ = true;
    return thread;
  }

  Bell bell_;
  OutputQueue output_{bell_};
  std::atomic<bool> is_freed_ = false, waited_ = false;
};

TEST_F(QueueRoom, IsThereOnceAResultIsTaken) {
  output_.push("small");
  output_.wait_for_room();
  std::thread thread = waiting();
  std::string result;
  for (const size_t size : {size_t{5}, size_t{1} << 20}) {
    EXPECT_EQ(output_.next({}, result).value(), What::kEvent);
    EXPECT_EQ(result.size(), size);
  }
  thread.join();
  EXPECT_TRUE(waited_);
}

TEST_F(QueueRoom, IsNotWaitedForOnceItIsCancelled) {
  std::thread thread = waiting();
  output_.cancel();
  thread.join();
  EXPECT_TRUE(waited_);
  output_.wait_for_room();
}

}  // namespace
}  // namespace pando::capi
