// Streams that break off at every byte and go on at another replica.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "ask/errors.h"
#include "serve/http.h"
#include "serve/route/event_filter.h"

namespace pando::testing {
namespace {

using serve::EventFilter;

// A comment about tokens and the blocks behind it.
struct StreamUnit {
  int request = 0, choice = 0;
  std::vector<Token> tokens;
  std::string blocks;
};

const std::string kHead = "event: message_start\ndata: {}\n\nevent: ping\ndata: {}\n\n";
const std::vector<StreamUnit> kUnits = {
    {0, 0, {5, 6}, "data: a\n\n"},
    {0, 1, {7}, "data: b1\n\ndata: b2\n\n"},
    {0, 0, {8}, "data: c\n\n"},
    {1, 0, {9, 10}, "data: d1\n\ndata: d2\n\ndata: d3\n\n"},
    {0, 1, {11}, "data: e\n\ndata: usage\n\ndata: [DONE]\n\n"},
};

std::string comment_of(const StreamUnit& unit) {
  std::string text = ": tokens " + std::to_string(unit.request) + " " + std::to_string(unit.choice);
  for (const Token token : unit.tokens) text += " " + std::to_string(token);
  return text + "\n\n";
}

std::string whole_stream() {
  std::string text = kHead;
  for (const StreamUnit& unit : kUnits) text += comment_of(unit) + unit.blocks;
  return text;
}

std::string for_clients() {
  std::string text = kHead;
  for (const StreamUnit& unit : kUnits) text += unit.blocks;
  return text;
}

// As a replica continues: units whose tokens the field has are left out.
std::string continued(const std::string& begun) {
  if (begun.empty()) return whole_stream();
  const auto has = [&](int request, int choice) {
    size_t n = 0;
    const std::string place = "\"request\":" + std::to_string(request) +
                              ",\"choice\":" + std::to_string(choice) + ",\"tokens\":[";
    const size_t at = begun.find(place);
    if (at == begun.npos) return n;
    n = 1;
    for (size_t i = at + place.size(); begun[i] != ']'; ++i) n += begun[i] == ',' ? 1 : 0;
    return n;
  };
  std::string text;
  std::vector<size_t> n_seen(4);
  for (const StreamUnit& unit : kUnits) {
    size_t& seen = n_seen[static_cast<size_t>(2 * unit.request + unit.choice)];
    seen += unit.tokens.size();
    if (seen > has(unit.request, unit.choice)) text += comment_of(unit) + unit.blocks;
  }
  return text;
}

std::string take(EventFilter& filter, std::string_view bytes) {
  Result<std::string> passed = filter.take(bytes);
  EXPECT_TRUE(passed) << passed.error().message();
  return passed ? *passed : std::string();
}

TEST(EventFilter, PassesBlocksWithoutTokens) {
  const std::string stream = whole_stream();
  for (size_t n = 1; n <= stream.size(); ++n) {  // bytes at a time
    EventFilter filter;
    std::string passed;
    for (size_t at = 0; at < stream.size(); at += n)
      passed += take(filter, std::string_view(stream).substr(at, n));
    EXPECT_EQ(passed, for_clients()) << n;
    EXPECT_TRUE(filter.finish());
  }
}

TEST(EventFilter, GoesOnAfterEveryByte) {
  const std::string stream = whole_stream();
  for (size_t cut = 0; cut < stream.size(); ++cut) {
    EventFilter filter;
    std::string passed = take(filter, std::string_view(stream).substr(0, cut));
    filter.restart();
    passed += take(filter, continued(filter.begun()));
    EXPECT_EQ(passed, for_clients()) << "cut after " << cut;
    EXPECT_TRUE(filter.finish()) << "cut after " << cut;
  }
}

TEST(EventFilter, GoesOnTwice) {
  const std::string stream = whole_stream();
  for (size_t cut = 0; cut < stream.size(); ++cut) {
    for (size_t again = 0; again < stream.size(); again += 3) {
      EventFilter filter;
      std::string passed = take(filter, std::string_view(stream).substr(0, cut));
      filter.restart();
      passed += take(filter, continued(filter.begun()).substr(0, again));
      filter.restart();
      passed += take(filter, continued(filter.begun()));
      ASSERT_EQ(passed, for_clients()) << "cut after " << cut << " and " << again;
    }
  }
}

TEST(EventFilter, SaysWhatHasBegun) {
  EventFilter filter;
  EXPECT_EQ(filter.begun(), "");
  take(filter, kHead);
  EXPECT_EQ(filter.begun(), "");
  EXPECT_FALSE(filter.has_begun());
  take(filter, ": tokens 0 0 1 2\n\n");
  EXPECT_EQ(filter.begun(), "[]");
  take(filter, "data: a\n\n: tokens 0 1 3\n\ndata: b\n\n");
  EXPECT_EQ(filter.begun(), R"([{"request":0,"choice":0,"tokens":[1,2]}])");
  take(filter, ": tokens 0 0 4\n\n");
  EXPECT_EQ(filter.begun(), R"([{"request":0,"choice":0,"tokens":[1,2]},)"
                            R"({"request":0,"choice":1,"tokens":[3]}])");
}

// Nothing is passed on of a stream that goes on in another way.
TEST(EventFilter, FindsStreamsThatDiffer) {
  struct Wrong {
    const char *name, *stream;
  };
  const Wrong cases[] = {
      {"tokens", ": tokens 0 0 2\n\ndata: a\n\n: tokens 0 0 3\n\n"},
      {"bytes", ": tokens 0 0 1\n\ndata: x\n\n"},
      {"fewer", ": tokens 0 0 1\n\n: tokens 0 0 3\n\n"},
  };
  for (const Wrong& wrong : cases) {
    EventFilter filter;
    take(filter, "data: head\n\n: tokens 0 0 1\n\ndata: a\n\n");
    filter.restart();
    EXPECT_FALSE(filter.take(wrong.stream)) << wrong.name;
  }
  EventFilter ends_early;
  take(ends_early, "data: head\n\n: tokens 0 0 1\n\ndata: a\n\n");
  ends_early.restart();
  EXPECT_FALSE(ends_early.finish());
}

TEST(EventFilter, KnowsServersThatShutDown) {
  const ask::HttpError error = serve::shutting_down(", and the answer was not ready in time");
  for (const ask::ErrorForm* form : {&ask::kOpenAiErrors, &ask::kAnthropicErrors}) {
    EventFilter filter;
    EXPECT_EQ(take(filter, "data: a\n\n" + form->last_events(error)), "data: a\n\n");
    EXPECT_EQ(filter.failure(), "it shuts down");
    filter.restart();
    EXPECT_EQ(filter.failure(), "");
  }
  EventFilter says_so;  // as a text
  const std::string block = "data: {\"text\":\"" + error.message + "\"}\n\n";
  EXPECT_EQ(take(says_so, block), block);
  EXPECT_EQ(says_so.failure(), "");
}

TEST(EventFilter, KnowsServersThatFail) {
  const ask::HttpError failed{500, "server_error", "internal", "x"},
      wrong{400, "invalid_request_error", "invalid_argument", "x"};
  for (const ask::ErrorForm* form : {&ask::kOpenAiErrors, &ask::kAnthropicErrors}) {
    EventFilter filter, of_request;
    EXPECT_EQ(take(filter, "data: a\n\n" + form->last_events(failed)), "data: a\n\n");
    EXPECT_NE(filter.failure(), "");
    EXPECT_EQ(take(of_request, form->last_events(wrong)), form->last_events(wrong));
    EXPECT_EQ(of_request.failure(), "");
  }
}

// An answer that failed is told before its error.
TEST(EventFilter, KeepsFailedResponsesUntilTheirErrors) {
  const std::string told =
      "event: response.failed\ndata: {\"response\":{\"error\":{\"code\":\"server_error\"}}}\n\n";
  const auto error = [](const std::string& code) {
    return "event: error\ndata: {\"type\":\"error\",\"code\":\"" + code + "\"}\n\n";
  };
  EventFilter of_server, of_request;
  EXPECT_EQ(take(of_server, told), "");
  EXPECT_EQ(take(of_server, error("io")), "");
  EXPECT_NE(of_server.failure(), "");
  EXPECT_EQ(take(of_request, told), "");
  EXPECT_EQ(take(of_request, error("too_long")), told + error("too_long"));
  EXPECT_EQ(of_request.failure(), "");
  EXPECT_TRUE(of_request.finish());
}

// Another replica differs in what was cached, and in how far other answers are.
TEST(EventFilter, RepeatsBlocksWithOtherCounts) {
  struct Repeated {
    const char *told, *again;
  };
  const Repeated cases[] = {
      {R"(data: {"a":1,"usage":{"n":1},"sharing":{"reused":5}})",
       R"(data: {"a":1,"usage":{"n":22},"sharing":{"reused":0}})"},
      {"event: message_delta\ndata: {\"delta\":{\"a\":1},\"usage\":{\"n\":1}}",
       "event: message_delta\ndata: {\"delta\":{\"a\":1},\"usage\":{\"n\":4}}"},
      {R"(data: {"delta":{"usage":{"n":10}}})", R"(data: {"delta":{"usage":{"n":2}}})"},
  };
  const std::string unit = ": tokens 0 1 0\n\n", end = "\n\n", last = "data: [DONE]\n\n";
  for (const Repeated& one : cases) {
    EventFilter filter;
    EXPECT_EQ(take(filter, unit + one.told + end), one.told + end);
    filter.restart();
    EXPECT_EQ(take(filter, unit + one.again + end + last), last);
    EXPECT_TRUE(filter.finish());
  }
  for (const char* other : {R"(data: {"a":2,"usage":{"n":1},"sharing":{"reused":5}})",
                            "event: b\ndata: {\"a\":1}", "data: x"}) {
    EventFilter filter;
    take(filter, unit + cases[0].told + end);
    filter.restart();
    EXPECT_FALSE(filter.take(unit + other + end)) << other;
  }
}

TEST(EventFilter, KnowsLastBlocks) {
  EXPECT_TRUE(serve::ends_stream("data: a\n\ndata: [DONE]\n\n"));
  EXPECT_TRUE(serve::ends_stream("data: a\n\nevent: message_stop\ndata: {}\n\n"));
  EXPECT_TRUE(serve::ends_stream("event: response.completed\ndata: {}\n\n"));
  EXPECT_FALSE(serve::ends_stream("data: [DONE]\n\ndata: a\n\n"));
  EXPECT_FALSE(serve::ends_stream(""));
}

}  // namespace
}  // namespace pando::testing
