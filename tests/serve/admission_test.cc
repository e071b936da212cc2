#include "serve/admission.h"

#include <gtest/gtest.h>

#include <optional>

namespace pando::serve {
namespace {

Request request(std::vector<Token> tokens, int max_tokens, int n = 1) {
  Request request;
  request.tokens = std::move(tokens);
  request.sampling.max_tokens = max_tokens;
  request.sampling.n = n;
  return request;
}

TEST(Admission, WhatPromptsShareCountsOnce) {
  const Admission admission({.kv_tokens = 1000, .bytes = 1 << 20});
  EXPECT_EQ(admission.demand_of({request({1, 2, 3, 4}, 5, 3), request({1, 2, 9}, 0)}).kv_tokens,
            4 + 3 * 5 + 1u);
}

TEST(Admission, LearnsHowLongAnswersGet) {
  Admission admission({.kv_tokens = 1000, .bytes = 1 << 20});
  for (int i = 0; i < 2000; ++i) admission.learn(10);
  EXPECT_NEAR(static_cast<double>(admission.demand_of({request({1}, 4000)}).kv_tokens), 21, 1);
  for (int i = 0; i < 2000; ++i) admission.learn(500);
  EXPECT_NEAR(static_cast<double>(admission.demand_of({request({1}, 4000)}).kv_tokens), 1001, 1);
}

TEST(Admission, OneIsAlwaysLetIn) {
  Admission admission({.kv_tokens = 100, .bytes = 1 << 20});
  auto entered = admission.enter({.kv_tokens = 5000});
  std::optional<Admission::Place> large = std::move(*entered);
  EXPECT_EQ(admission.enter({.kv_tokens = 1}).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(admission.taken().kv_tokens, 5000u);
  large.reset();
  EXPECT_EQ(admission.taken().kv_tokens, 0u);
  const auto first = admission.enter({.kv_tokens = 60}),
             second = admission.enter({.kv_tokens = 40});
  EXPECT_TRUE(first.ok() && second.ok());
  EXPECT_FALSE(admission.enter({.kv_tokens = 1}).ok());
  EXPECT_FALSE(admission.enter({.bytes = 2 << 20}).ok());
}

TEST(Admission, SaysWhenToComeAgain) {
  Admission admission({.kv_tokens = 100, .bytes = 1 << 20});
  const auto open = admission.enter({.kv_tokens = 100});
  EXPECT_EQ(admission.retry_after({.kv_tokens = 50}), 60) << "nothing has ended yet";
  Admission busy({.kv_tokens = 100, .bytes = 1 << 20});
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(busy.enter({.kv_tokens = 100}).ok());  // and goes
  EXPECT_EQ(busy.retry_after({.kv_tokens = 50}), 1);
  EXPECT_NEAR(busy.retry_after({.kv_tokens = 2100}), 20, 2) << "100 tokens a second become free";
}

}  // namespace
}  // namespace pando::serve
