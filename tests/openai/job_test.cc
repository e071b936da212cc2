// What is said of the requests of a job.
#include "openai/job.h"

#include <gtest/gtest.h>

namespace pando::openai {
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

}  // namespace
}  // namespace pando::openai
