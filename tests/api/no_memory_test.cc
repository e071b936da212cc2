// Memory that runs out where the engine leaves an event for the owner of a request.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <new>
#include <thread>

#include "api/request_group.h"
#include "api/waker.h"
#include "engine/tiny_engine.h"

namespace {

std::atomic<size_t> refused_size = 0;  // the next allocation of this many bytes fails; 0: none does
std::atomic<bool> is_lasting = false;  // not only the next one
std::atomic<int> n_refused = 0;

void* allocate(size_t n_bytes) {
  size_t size = n_bytes;
  if (n_bytes > 0 &&
      (is_lasting ? refused_size == n_bytes : refused_size.compare_exchange_strong(size, 0))) {
    ++n_refused;
    throw std::bad_alloc();
  }
  if (void* memory = std::malloc(n_bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(size_t n_bytes) { return allocate(n_bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace pando::testing {
namespace {

// One event finds room in the list that the owner takes, a second does not. The engine tells one
// event a step and never needs such a list itself.
struct WithoutMemoryForTwoEvents {
  WithoutMemoryForTwoEvents() { refused_size = 2 * sizeof(GroupEvent); }
  ~WithoutMemoryForTwoEvents() { refused_size = 0; }
};

TEST(RequestGroupWithoutMemory, ALostEventEndsWhatIsInTheEngine) {
  const std::unique_ptr<Engine> engine = open_tiny();
  Waker waker;
  RequestGroup group(*engine, {.wants_text = true, .on_events = [&] { waker.wake(); }});
  group.add(tiny_request("one", 20));
  {
    const WithoutMemoryForTwoEvents none;
    group.submit();
    while (engine->stats().requests == 0) std::this_thread::yield();
    std::atomic<bool> is_past = false;  // of all events of the first
    ASSERT_TRUE(engine->submit(tiny_request("two", 1), [&](const Event&) { is_past = true; }).ok());
    while (!is_past) std::this_thread::yield();
  }
  waker.wait();
  {  // nor for the event and the error
    const WithoutMemoryForTwoEvents none;
    EXPECT_THROW(group.take(), std::bad_alloc);
  }
  const std::vector<GroupEvent> events = group.take();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_FALSE(events[0].event.error.has_value());
  ASSERT_TRUE(events[1].event.error.has_value());
  EXPECT_EQ(events[1].event.error->code, ErrorCode::kUnavailable);
  EXPECT_EQ(events[1].event.error->message(), "not enough memory");
  EXPECT_TRUE(group.is_over());
  EXPECT_EQ(group.n_open_answers(), 0);

  group.add(tiny_request("one", 1));  // there is memory again
  bool is_complete = false;
  while (!group.is_over()) {
    group.submit();
    waker.wait();
    for (const GroupEvent& one : group.take()) is_complete |= one.event.completion.has_value();
  }
  EXPECT_TRUE(is_complete);
}

TEST(RequestGroupWithoutMemory, EventsThatCannotBeTakenAreTakenLater) {
  const std::unique_ptr<Engine> engine = open_tiny();
  Waker waker;
  RequestGroup group(*engine, {.on_events = [&] { waker.wake(); }});
  Request wrong = tiny_request("two", 1);
  wrong.sampling.temperature = -1;
  group.add(tiny_request("one", 1));
  group.add(wrong);
  group.submit();
  waker.wait();
  {
    const WithoutMemoryForTwoEvents none;
    EXPECT_THROW(group.take(), std::bad_alloc);
  }
  EXPECT_FALSE(group.is_over());
  const std::vector<GroupEvent> events = group.take();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].request, 1u);
  EXPECT_TRUE(events[0].event.error.has_value());
  EXPECT_EQ(events[1].request, 0u);
  EXPECT_TRUE(events[1].event.completion.has_value());
  EXPECT_TRUE(group.is_over());
}

// A cancelled request has no more events, not even those that could not be taken.
TEST(RequestGroupWithoutMemory, EventsThatCouldNotBeTakenAreCancelled) {
  const std::unique_ptr<Engine> engine = open_tiny();
  Waker waker;
  RequestGroup group(*engine, {.on_events = [&] { waker.wake(); }});
  Request wrong = tiny_request("two", 1);
  wrong.sampling.temperature = -1;
  group.add(wrong);
  group.submit();
  group.cancel(0);
  EXPECT_TRUE(group.is_over());
  EXPECT_TRUE(group.take().empty());
}

// The engine's list of those that wait grows to 256 places, for which there is no memory. Events of
// the first request are heard on the engine's thread, between two steps.
TEST(EngineWithoutMemory, WhatWaitsIsKnownToWait) {
  constexpr size_t kWaiting = 200, kPlaces = 256;
  EngineOptions options = tiny_options();
  options.max_running = 1;
  const std::unique_ptr<Engine> engine = open_tiny(options);
  std::promise<RequestId> last_asked;
  std::future<RequestId> all_asked = last_asked.get_future();
  RequestId last = 0;
  uint64_t n_steps = 0;  // until all were asked
  bool is_short = false, waits_before = false, waits_without = false;
  std::atomic<bool> has_begun = false;
  std::atomic<size_t> n_open = kWaiting + 1;
  const auto of_first = [&](const Event& event) {
    if (!has_begun.exchange(true)) {
      last = all_asked.get();
      n_steps = engine->stats().steps;
    } else if (!is_short && engine->stats().steps >= n_steps + 2) {
      waits_before = engine->is_waiting(last);
      is_short = is_lasting = true;
      n_refused = 0;
      refused_size = kPlaces * sizeof(RequestId);
    } else if (is_short && is_lasting && n_refused >= 3) {
      waits_without = engine->is_waiting(last);
      refused_size = 0;
      is_lasting = false;
    }
    if (event.completion || event.error) --n_open;
  };
  ASSERT_TRUE(engine->submit(tiny_request("first", 500), of_first).ok());
  while (!has_begun) std::this_thread::yield();
  RequestId asked = 0;
  for (size_t i = 0; i < kWaiting; ++i)
    asked = engine
                ->submit(tiny_request("next", 10),
                         [&](const Event& event) {
                           if (event.completion || event.error) --n_open;
                         })
                .value();
  last_asked.set_value(asked);
  while (n_open > 0) std::this_thread::yield();
  EXPECT_TRUE(waits_before);
  EXPECT_TRUE(waits_without);
  EXPECT_FALSE(is_lasting) << n_refused << " allocations were refused";
  EXPECT_FALSE(engine->is_waiting(asked));
  refused_size = 0;
  is_lasting = false;
}

// To ask again would take from others what this request lacked.
TEST(RequestGroupWithoutMemory, WhatLacksMemoryInAStepIsNotAskedAgain) {
  const std::unique_ptr<Engine> engine = open_tiny();
  Waker waker;
  RequestGroup group(
      *engine, {.wants_text = true, .waits_for_room = true, .on_events = [&] { waker.wake(); }});
  group.add(tiny_request("one", 20));
  refused_size = engine->model().info().vocab * sizeof(float);  // the first row of logits
  group.submit();
  waker.wait();
  const std::vector<GroupEvent> events = group.take();
  EXPECT_EQ(refused_size, 0u);
  ASSERT_EQ(events.size(), 1u);
  ASSERT_TRUE(events[0].event.error.has_value());
  EXPECT_EQ(events[0].event.error->message(), "not enough memory");
  EXPECT_TRUE(group.is_over());
}

}  // namespace
}  // namespace pando::testing
