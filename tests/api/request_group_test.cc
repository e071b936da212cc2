#include "api/request_group.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <thread>

#include "api/waker.h"
#include "engine/tiny_engine.h"

namespace pando::testing {
namespace {

// A group whose owner sleeps until there are events.
struct Owner {
  Owner(Engine& engine, RequestGroup::Options options)
      : group(engine, [&] {
          options.on_events = [this] { waker.wake(); };
          return std::move(options);
        }()) {}

  // Submits and waits until there are events.
  std::vector<GroupEvent> next() {
    for (;;) {
      group.submit();
      std::vector<GroupEvent> events = group.take();
      if (!events.empty()) return events;
      waker.wait(group.retry_at());
    }
  }

  Waker waker;
  RequestGroup group;
};

TEST(RequestGroup, HasNoMoreOpenThanItMay) {
  const std::unique_ptr<Engine> engine = open_tiny();
  Owner owner(*engine, {.max_open = 3});
  for (int i = 0; i < 5; ++i) {
    Request request = tiny_request("a prompt", 4);
    request.sampling.n = i == 4 ? 7 : 1;  // the last is more than that by itself
    owner.group.add(std::move(request));
  }
  std::vector<int> n_answers(5);
  while (!owner.group.is_over()) {
    EXPECT_LE(owner.group.n_open_answers(), owner.group.n_in_engine() == 1 ? 7 : 3);
    for (const GroupEvent& one : owner.next()) {
      ASSERT_TRUE(one.event.completion.has_value());
      ++n_answers[one.request];
    }
  }
  EXPECT_EQ(n_answers, (std::vector{1, 1, 1, 1, 7}));
  EXPECT_EQ(owner.group.n_open_answers(), 0);
}

TEST(RequestGroup, HearsTextWhereItIsToldTo) {
  const std::unique_ptr<Engine> engine = open_tiny();
  for (const bool wants_text : {false, true}) {
    Owner owner(*engine, {.wants_text = wants_text});
    owner.group.add(tiny_request("a prompt", 20));
    size_t n_events = 0;
    while (!owner.group.is_over()) n_events += owner.next().size();
    EXPECT_EQ(n_events > 1, wants_text);
  }
}

// Others hold all places but one: a refused request is submitted again when one of its own ends.
TEST(RequestGroup, WaitsForItsOwnWhereOthersFillTheEngine) {
  EngineOptions options = tiny_options();
  options.max_open = 65;
  const std::unique_ptr<Engine> engine = open_tiny(options);
  ASSERT_TRUE(engine->submit(endless_request("others"), [](const Event&) {}).ok());
  Owner owner(*engine, {});
  for (int i = 0; i < 4; ++i) owner.group.add(tiny_request("mine", 3));
  size_t n_complete = 0;
  while (!owner.group.is_over())
    for (const GroupEvent& one : owner.next()) n_complete += one.event.completion.has_value();
  EXPECT_EQ(n_complete, 4u);
}

TEST(RequestGroup, TheFirstRefusalIsAnErrorOrIsWaitedFor) {
  EngineOptions options = tiny_options();
  options.max_open = 65;
  const std::unique_ptr<Engine> engine = open_tiny(options);
  Engine::Hold held = engine->hold();  // the others do not end
  const Result<RequestId> others = engine->submit(endless_request("others"), [](const Event&) {});
  ASSERT_TRUE(others.ok());
  Request two = tiny_request("mine", 3);
  two.sampling.n = 2;

  Owner impatient(*engine, {});
  impatient.group.add(two);
  const std::vector<GroupEvent> events = impatient.next();
  ASSERT_EQ(events.size(), 1u);
  ASSERT_TRUE(events[0].event.error.has_value());
  EXPECT_EQ(events[0].event.error->code, ErrorCode::kUnavailable);
  EXPECT_TRUE(impatient.group.is_over());

  Owner patient(*engine, {.waits_for_room = true});
  patient.group.add(two);
  patient.group.submit();
  EXPECT_TRUE(patient.group.take().empty());
  EXPECT_TRUE(patient.group.retry_at().has_value());
  EXPECT_EQ(patient.group.waiting(), std::vector<size_t>{0});
  engine->cancel(*others);
  held.reset();
  size_t n_complete = 0;
  while (!patient.group.is_over())
    for (const GroupEvent& one : patient.next()) n_complete += one.event.completion.has_value();
  EXPECT_EQ(n_complete, 2u);
}

TEST(RequestGroup, AnErrorEndsOneRequestAndNoOther) {
  const std::unique_ptr<Engine> engine = open_tiny();
  Owner owner(*engine, {});
  owner.group.add(tiny_request("a prompt", 3));
  owner.group.add(tiny_request("a prompt", -3));
  owner.group.add(tiny_request("a prompt", 3));
  std::vector<size_t> complete, failed;
  while (!owner.group.is_over())
    for (const GroupEvent& one : owner.next())
      (one.event.error ? failed : complete).push_back(one.request);
  EXPECT_EQ(failed, std::vector<size_t>{1});
  EXPECT_EQ(complete, (std::vector<size_t>{0, 2}));
}

TEST(RequestGroup, NothingIsHeardOfWhatIsCancelled) {
  const std::unique_ptr<Engine> engine = open_tiny();
  Owner owner(*engine, {.wants_text = true});
  owner.group.add(endless_request("endless"));
  owner.group.add(tiny_request("a prompt", 3));
  owner.next();
  owner.group.cancel(0);
  while (!owner.group.is_over())
    for (const GroupEvent& one : owner.next()) EXPECT_EQ(one.request, 1u);
  EXPECT_EQ(owner.group.n_open_answers(), 0);
}

TEST(RequestGroup, AnotherThreadCancelsAll) {
  const std::unique_ptr<Engine> engine = open_tiny();
  Owner owner(*engine, {.wants_text = true});
  owner.group.add(endless_request("endless"));
  owner.next();
  std::thread other([&] { owner.group.cancel_all(); });
  while (!owner.group.is_cancelled()) owner.waker.wait();
  other.join();
  EXPECT_TRUE(owner.group.take().empty());
  owner.group.add(tiny_request("a prompt", 3));
  owner.group.submit();
  EXPECT_EQ(owner.group.n_to_submit(), 1u);
}

TEST(RequestGroup, TellsOnceUntilItsNewsIsTaken) {
  const std::unique_ptr<Engine> engine = open_tiny();
  std::atomic<int> n_told = 0;
  RequestGroup group(*engine, {.on_events = [&] { ++n_told; }});
  Engine::Hold held = engine->hold();
  for (int i = 0; i < 3; ++i) group.add(tiny_request("a prompt", 3));
  group.submit();
  EXPECT_EQ(n_told, 0);
  held.reset();
  while (engine->stats().requests < 3) std::this_thread::yield();
  ASSERT_TRUE(engine->complete(tiny_request("later", 1)).ok());
  EXPECT_EQ(n_told, 1);
  EXPECT_EQ(group.take().size(), 3u);
}

TEST(RequestGroup, WhoCouldNotBeToldIsToldOfTheNextEvent) {
  const std::unique_ptr<Engine> engine = open_tiny();
  std::atomic<int> n_tries = 0;
  RequestGroup group(*engine, {.wants_text = true, .on_events = [&] {
                                 if (++n_tries == 1) throw std::bad_alloc();
                               }});
  group.add(tiny_request("a prompt", 10));
  group.submit();
  ASSERT_TRUE(engine->complete(tiny_request("later", 20)).ok());
  EXPECT_EQ(n_tries, 2);
  EXPECT_GT(group.take().size(), 2u);
}

}  // namespace
}  // namespace pando::testing
