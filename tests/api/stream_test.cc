// Events pulled one by one.
#include "pando/stream.h"

#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "engine/tiny_engine.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace pando::testing {
namespace {

TEST(Stream, PiecesOfTextMakeTheAnswer) {
  const std::unique_ptr<Engine> engine = open_tiny();
  for (int seed = 0; seed < 10; ++seed) {
    Request request = tiny_request("a prompt", 30);
    request.sampling.n = 3;
    request.sampling.temperature = 2;
    request.sampling.seed = seed;
    request.sampling.stop = {"e", "xyz"};
    Result<Stream> stream = Stream::open(*engine, request);
    ASSERT_TRUE(stream.ok());
    std::map<int, std::string> text;
    int n_completed = 0;
    while (const std::optional<Event> event = stream->next()) {
      ASSERT_FALSE(event->error);
      text[event->choice] += event->text;
      if (!event->completion) continue;
      ++n_completed;
      EXPECT_EQ(event->completion->text, text[event->choice]);
      EXPECT_EQ(event->completion->text.find('e'), std::string::npos);
    }
    EXPECT_EQ(n_completed, 3);
    EXPECT_FALSE(stream->next());
    EXPECT_FALSE(stream->next());
  }
}

TEST(Stream, TextComesBeforeTheEnd) {
  const std::unique_ptr<Engine> engine = open_tiny();
  Result<Stream> stream = Stream::open(*engine, tiny_request("a prompt", 40));
  ASSERT_TRUE(stream.ok());
  int n_events = 0;
  while (stream->next()) ++n_events;
  EXPECT_GT(n_events, 5);
}

// A reader learns that an answer has begun, though none of its tokens has a text.
TEST(Stream, TheFirstTokenIsToldWithoutText) {
  const std::unique_ptr<Engine> engine = open_tiny();
  Request request = tiny_request("a prompt", 20);
  request.sampling.n = 2;
  request.sampling.logit_bias = {{256, 1000}};  // the end, which is ignored
  Result<Stream> stream = Stream::open(*engine, request);
  ASSERT_TRUE(stream.ok());
  std::map<int, int> n_events;
  while (const std::optional<Event> event = stream->next()) {
    EXPECT_EQ(event->text, "");
    EXPECT_EQ(event->completion.has_value(), ++n_events[event->choice] == 2);
    if (!event->completion) continue;
    EXPECT_EQ(event->completion->tokens, std::vector<Token>(20, 256));
  }
  EXPECT_EQ(n_events, (std::map<int, int>{{0, 2}, {1, 2}}));
}

TEST(Stream, TextIsWholeCharacters) {
  const std::unique_ptr<Engine> engine = open_tiny();
  Request request = tiny_request("a prompt", 60);
  request.sampling.n = 20;
  request.sampling.temperature = 5;
  Result<Stream> stream = Stream::open(*engine, request);
  ASSERT_TRUE(stream.ok());
  while (const std::optional<Event> event = stream->next())
    EXPECT_EQ(find_invalid_utf8(event->text), std::nullopt);
}

TEST(Stream, DestroyedEarlyItCancels) {
  Gate gate;
  const std::unique_ptr<Engine> engine = open_tiny();
  {
    Engine::Hold held = engine->hold();
    Result<Stream> unread = Stream::open(*engine, endless_request("never read"));
    Result<Stream> half_read = Stream::open(*engine, endless_request("half read"));
    ASSERT_TRUE(unread.ok() && half_read.ok());
    const auto short_one = engine->submit(tiny_request("beside them", 3), [&](const Event& event) {
      if (event.completion) gate.pass();  // the others do not end before they are destroyed
    });
    ASSERT_TRUE(short_one.ok());
    held.reset();
    EXPECT_TRUE(half_read->next());
  }
  gate.open();
  EXPECT_TRUE(engine->complete(tiny_request("behind them")).ok());
  EXPECT_EQ(engine->stats().requests, 2u);
}

TEST(Stream, MovesAlong) {
  const std::unique_ptr<Engine> engine = open_tiny();
  Result<Stream> first = Stream::open(*engine, endless_request("first"));
  Result<Stream> second = Stream::open(*engine, tiny_request("second", 2));
  ASSERT_TRUE(first.ok() && second.ok());
  Stream stream = std::move(*first);
  stream = std::move(*second);
  std::optional<Completion> completion;
  while (std::optional<Event> event = stream.next()) completion = event->completion;
  ASSERT_TRUE(completion);
  EXPECT_EQ(completion->tokens.size(), 2u);
}

TEST(Stream, ManyAtATime) {
  const std::unique_ptr<Engine> engine = open_tiny();
  std::vector<std::thread> readers;
  for (int i = 0; i < 8; ++i)
    readers.emplace_back([&, i] {
      Result<Stream> stream =
          Stream::open(*engine, tiny_request("prompt " + std::to_string(i % 3), 5 + i));
      ASSERT_TRUE(stream.ok());
      size_t n_tokens = 0;
      while (std::optional<Event> event = stream->next())
        if (event->completion) n_tokens = event->completion->tokens.size();
      EXPECT_EQ(n_tokens, 5u + i);
    });
  for (std::thread& reader : readers) reader.join();
}

TEST(Stream, RefusedAtOnce) {
  const std::unique_ptr<Engine> engine = open_tiny();
  const Result<Stream> stream = Stream::open(*engine, tiny_request(""));
  ASSERT_FALSE(stream.ok());
  EXPECT_EQ(stream.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace pando::testing
