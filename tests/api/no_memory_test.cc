// Memory that runs out where the engine leaves an event for the owner of a request.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include "api/request_group.h"
#include "api/waker.h"
#include "engine/tiny_engine.h"

namespace {

std::atomic<size_t> refused_size = 0;  // the next allocation of so many bytes fails; 0: none does

void* allocate(size_t n_bytes) {
  size_t size = n_bytes;
  if (n_bytes > 0 && refused_size.compare_exchange_strong(size, 0)) throw std::bad_alloc();
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
  const std::vector<GroupEvent> events = group.take();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_FALSE(events[0].event.error.has_value());
  ASSERT_TRUE(events[1].event.error.has_value());
  EXPECT_EQ(events[1].event.error->code, ErrorCode::kUnavailable);
  EXPECT_EQ(events[1].event.error->message, "not enough memory (hint: try again later)");
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
  EXPECT_EQ(events[0].event.error->message, "not enough memory (hint: try again later)");
  EXPECT_TRUE(group.is_over());
}

}  // namespace
}  // namespace pando::testing
