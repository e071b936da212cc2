// Errors and notes tell about the requests of a body.
#include <gtest/gtest.h>

#include "ask/body_checks.h"
#include "engine/tiny_engine.h"

namespace pando::ask {
namespace {

std::vector<size_t> beside(const std::vector<std::vector<Token>>& prompts) {
  std::vector<Request> requests;
  for (const std::vector<Token>& tokens : prompts) requests.push_back({.tokens = tokens});
  count_beside(requests);
  std::vector<size_t> counts;
  for (const Request& request : requests) counts.push_back(request.tokens_beside);
  return counts;
}

TEST(CountBeside, WhatComesBehind) {
  std::vector<Request> requests = {
      {.tokens = {1, 2, 3}}, {.tokens = {1, 2, 4, 5}}, {.tokens = {1, 2}}, {.tokens = {6}}};
  count_beside(requests);
  const auto behind = [&](size_t i) { return requests[i].tokens_behind; };
  EXPECT_EQ(behind(0), 3u);
  EXPECT_EQ(behind(1), 1u) << "nothing of its own has the third";
  EXPECT_EQ(behind(2), 1u);
  EXPECT_EQ(behind(3), 0u);
}

TEST(CountBeside, WhatOneSharesWithTheOneBeforeCountsOnce) {
  using Counts = std::vector<size_t>;
  EXPECT_EQ(beside({}), Counts());
  EXPECT_EQ(beside({{1, 2, 3}}), Counts({0}));
  EXPECT_EQ(beside({{1, 2, 3}, {4, 5}}), Counts({2, 3}));
  EXPECT_EQ(beside({{1, 2, 3}, {1, 2, 3}}), Counts({0, 0})) << "the yes and the no of a document";
  EXPECT_EQ(beside({{1, 2, 3}, {1, 2, 4, 5}, {1, 2}}), Counts({2, 1, 3})) << "questions about 1, 2";
  EXPECT_EQ(beside({{1, 2}, {1, 2, 3}}), Counts({1, 0})) << "one begins the other";
}

// A client that leaves is not worked for on.
TEST(ReadBody, IsGivenUp) {
  const nlohmann::json ranking = {{"query", "q"}, {"documents", {"a", "b", "c"}}};
  const nlohmann::json scores = {{"prompt", "P"}, {"continuations", {"a", "b"}}};
  int n_left = 0;
  const std::function<bool()> given_up = [&] { return n_left-- == 0; };
  const auto made = [&](ReadBody& make, const nlohmann::json& body, int n_asked) {
    n_left = n_asked;
    Bounds bounds;
    return make(body, {.model = *testing::tiny_model(),
                       .context = 640,
                       .max_answers = 8,
                       .envelope = {},
                       .bounds = bounds,
                       .defaults = {},
                       .given_up = given_up});
  };
  for (const auto& [make, body, n_asked] :
       {std::tuple{&read_rerank_body, ranking, 1}, {&read_score_body, scores, 0}}) {
    const auto stopped = made(*make, body, n_asked);
    ASSERT_FALSE(stopped.ok());
    EXPECT_EQ(stopped.error().code, ErrorCode::kUnavailable) << stopped.error().message();
    const auto read = made(*make, body, 1000);
    EXPECT_TRUE(read.ok()) << read.error().message();
  }
}

// The words that clients know stay; who set the limit comes behind them.
TEST(CheckLength, SaysWhoseLimitItIs) {
  Bounds bounds;
  const std::function<bool()> given_up = [] { return false; };
  const auto body = read_answers_body({{"context", "C"}, {"questions", {"Q"}}, {"max_tokens", 50}},
                                      {.model = *testing::tiny_model(),
                                       .context = 40,
                                       .max_answers = 8,
                                       .envelope = {},
                                       .bounds = bounds,
                                       .defaults = {},
                                       .given_up = given_up});
  ASSERT_TRUE(body.ok()) << body.error().message();
  (*body)->requests[0].tokens.assign(10, 65);
  const std::string
      begin =
          "questions[0]: the prompt has 10 tokens and 'max_tokens' is 50, 60 together; this "
          "model's maximum context length is 40 tokens",
      end = " (hint: lower 'max_tokens' or remove it)";
  EXPECT_EQ(check_length(**body, 0, 40, 40).error().message(), begin + end);
  EXPECT_EQ(check_length(**body, 0, 40, 640).error().message(),
            begin + ", as context sets it (its own is 640)" + end);
  EXPECT_TRUE(check_length(**body, 0, 60, 640).ok());
}

}  // namespace
}  // namespace pando::ask
