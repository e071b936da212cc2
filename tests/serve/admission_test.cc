#include "serve/admission.h"

#include <gtest/gtest.h>

#include <optional>

namespace pando::serve {
namespace {

using namespace std::chrono_literals;

TEST(Admission, OneIsAlwaysLetIn) {
  Admission admission(100);
  auto entered = admission.enter(5000);
  std::optional<Admission::Place> large = std::move(*entered);
  const Error full = admission.enter(1).error();
  EXPECT_EQ(full.code, ErrorCode::kUnavailable);
  EXPECT_EQ(
      full.message(),
      "the server's memory for requests is full: this request needs 1 byte, and 1 open request "
      "already takes 5000; the limit is 100 (hint: try again later)");
  large.reset();
  const auto first = admission.enter(60), second = admission.enter(40);
  EXPECT_TRUE(first.ok() && second.ok());
  EXPECT_FALSE(admission.enter(1).ok());
}

TEST(Admission, PromptsAndAnswersTakeMemory) {
  Request request;
  request.tokens.resize(1000);
  const size_t one = bytes_of({request});
  EXPECT_GT(one, 1000 * sizeof(Token));
  EXPECT_EQ(bytes_of({request, request}), 2 * one);
  request.sampling.n = 3;
  EXPECT_GT(bytes_of({request}), one);
  request.sampling.n = 1;
  for (Token token = 0; token < 100; ++token) request.sampling.logit_bias[token] = 1;
  EXPECT_GT(bytes_of({request}), one + 100 * sizeof(std::pair<Token, double>));
}

TEST(Admission, SaysWhenToComeAgain) {
  using Clock = Admission::Clock;
  Admission admission(1000);
  EXPECT_EQ(admission.retry_after(), 1);
  const auto end_many = [&](Clock::duration after, bool let_in) {
    for (int i = 0; i < 200; ++i) {
      auto place = admission.enter(1, Clock::now() - after);
      if (let_in) place->let_in();
    }
  };
  end_many(30s, /*let_in=*/false);
  EXPECT_EQ(admission.retry_after(), 1) << "the engine took none of them up";
  end_many(30s, /*let_in=*/true);
  EXPECT_NEAR(admission.retry_after(), 30, 1);
  {
    std::vector<Result<Admission::Place>> open;
    for (int i = 0; i < 10; ++i) open.push_back(admission.enter(1));
    EXPECT_NEAR(admission.retry_after(), 3, 1) << "one of ten";
  }
  end_many(3000s, /*let_in=*/true);
  EXPECT_EQ(admission.retry_after(), 60);
}

}  // namespace
}  // namespace pando::serve
