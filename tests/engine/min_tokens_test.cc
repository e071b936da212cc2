// min_tokens: nothing ends the first tokens of an answer, and all else is as without it.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "engine/tiny_engine.h"

namespace pando::testing {
namespace {

// " tailor" of three tokens, then the end token, which is the demo model's token 0.
constexpr const char* kPrompt =
    "The dog named Brako has fur that is green. Velina works as a tailor. The Mofti lamp costs "
    "$12.40.\n\nQuestion: What is the profession of Velina?\nAnswer:";
constexpr Token kEnd = 0;
constexpr size_t kAnswer = 3;

const std::shared_ptr<const Model>& demo_model() {
  static const std::shared_ptr<const Model> model = [] {
    Result<std::shared_ptr<const Model>> loaded = Model::load(PANDO_SOURCE_DIR "/models/demo");
    if (!loaded) throw std::runtime_error(loaded.error().message());
    return std::move(*loaded);
  }();
  return model;
}

std::unique_ptr<Engine> open_demo(const std::string& sharing = "tree") {
  EngineOptions options = tiny_options();
  options.sharing = sharing;
  return std::move(Engine::open(demo_model(), options).value());
}

Request asked(int min_tokens) {
  Request request;
  request.prompt = kPrompt;
  request.sampling.max_tokens = 20;
  request.sampling.min_tokens = min_tokens;
  request.logits_hash = true;
  return request;
}

std::vector<Completion> answers(const Request& request) {
  return open_demo()->complete(request).value();
}
Completion answer(const Request& request) { return answers(request)[0]; }

size_t n_before_end(const Completion& completion) {
  return std::ranges::find(completion.tokens, kEnd) - completion.tokens.begin();
}

TEST(MinTokens, AnAnswerGoesOnToThem) {
  const Completion plain = answer(asked(0));
  ASSERT_EQ(plain.text, " tailor");
  ASSERT_EQ(plain.tokens.size(), kAnswer + 1);
  ASSERT_EQ(plain.tokens.back(), kEnd);
  for (const int min_tokens : {4, 5, 9, 20}) {
    const Completion longer = answer(asked(min_tokens));
    EXPECT_GE(longer.tokens.size(), static_cast<size_t>(min_tokens));
    EXPECT_GE(n_before_end(longer), static_cast<size_t>(min_tokens));
    EXPECT_TRUE(std::equal(plain.tokens.begin(), plain.tokens.end() - 1, longer.tokens.begin()));
    EXPECT_TRUE(longer.text.starts_with(" tailor"));
  }
  EXPECT_EQ(answer(asked(20)).finish_reason, FinishReason::kLength);
}

// The end token behind them is not one of them, so three change nothing.
TEST(MinTokens, AsManyAsTheAnswerHasChangeNoBit) {
  const Completion plain = answer(asked(0));
  for (int min_tokens = 1; min_tokens <= static_cast<int>(kAnswer); ++min_tokens) {
    const Completion same = answer(asked(min_tokens));
    EXPECT_EQ(same.tokens, plain.tokens);
    EXPECT_EQ(same.logits_hash, plain.logits_hash);
    EXPECT_EQ(same.finish_reason, FinishReason::kStop);
  }
}

TEST(MinTokens, NoEndTokenIsDrawnBefore) {
  Request request = asked(8);
  request.sampling.n = 64;
  request.sampling.temperature = 3;
  request.sampling.seed = 5;
  request.sampling.logit_bias = {{kEnd, 8}};
  size_t n_longer = 0;
  for (const Completion& completion : answers(request)) {
    EXPECT_GE(n_before_end(completion), 8u);
    n_longer += completion.tokens.size() > 9;
  }
  EXPECT_LT(n_longer, 64u) << "the bias ends most as soon as it may";
  request.sampling.min_tokens = 0;
  size_t n_shorter = 0;
  for (const Completion& completion : answers(request)) n_shorter += n_before_end(completion) < 8;
  EXPECT_GT(n_shorter, 32u);
}

TEST(MinTokens, NorATokenThatEndsByRequest) {
  const Completion plain = answer(asked(0));
  Request request = asked(2);
  request.sampling.stop_tokens = {plain.tokens[1], 1 << 30};
  const Completion without = answer(request);
  ASSERT_GE(without.tokens.size(), 2u);
  EXPECT_EQ(without.tokens[0], plain.tokens[0]);
  EXPECT_NE(without.tokens[1], plain.tokens[1]);
  request.sampling.min_tokens = 1;
  EXPECT_EQ(answer(request).tokens, (std::vector<Token>{plain.tokens[0], plain.tokens[1]}));
}

// "t", "ai" and "lor": a stop text that is whole with the second token, or with the third.
TEST(MinTokens, AStopTextBeforeIsNotTaken) {
  Request request = asked(0);
  request.sampling.stop = {"ta", "lor"};
  EXPECT_EQ(answer(request).text, " ");
  request.sampling.min_tokens = 1;
  EXPECT_EQ(answer(request).text, " ") << "it begins within them and ends behind";
  request.sampling.min_tokens = 2;
  EXPECT_EQ(answer(request).text, " tai");
  request.sampling.min_tokens = 3;
  const Completion whole = answer(request);
  EXPECT_EQ(whole.text, " tailor");
  EXPECT_EQ(whole.finish_reason, FinishReason::kStop) << "by the end token";
  request.sampling.max_tokens = 3;
  EXPECT_EQ(answer(request).finish_reason, FinishReason::kLength);
}

TEST(MinTokens, WhereTheEndIsIgnoredItIsDrawnBehindThemOnly) {
  Request request = asked(0);
  request.sampling.ignore_eos = true;
  EXPECT_EQ(n_before_end(answer(request)), kAnswer);
  request.sampling.min_tokens = 6;
  const Completion completion = answer(request);
  EXPECT_GE(n_before_end(completion), 6u);
  EXPECT_EQ(completion.tokens.size(), 20u);
}

TEST(MinTokens, LogprobsAreThoseOfTheModel) {
  Request request = asked(6);
  request.sampling.logprobs = true;
  request.sampling.top_logprobs = 1;
  const Completion completion = answer(request);
  const TokenLogprob& first_past_end = completion.logprobs[kAnswer];
  EXPECT_EQ(first_past_end.top[0].first, kEnd);
  EXPECT_GT(first_past_end.top[0].second, -0.01);
  EXPECT_FALSE(first_past_end.likeliest);
  EXPECT_LT(first_past_end.logprob, -3);
}

TEST(MinTokens, WhereEveryTokenEndsAnAnswerItGoesOnAllTheSame) {
  Request request = asked(4);
  request.sampling.stop_tokens.resize(demo_model()->info().vocab);
  std::iota(request.sampling.stop_tokens.begin(), request.sampling.stop_tokens.end(), 0);
  const Completion completion = answer(request);
  EXPECT_EQ(completion.tokens.size(), 5u);
  EXPECT_EQ(completion.tokens[kAnswer], kEnd) << "nothing else was left to draw";
  EXPECT_EQ(completion.finish_reason, FinishReason::kStop);
}

// Neither sharing nor what runs beside it changes a bit.
TEST(MinTokens, SharingChangesNothing) {
  std::vector<Request> requests;
  for (int i = 0; i < 6; ++i) {
    Request request = asked(i % 2 == 0 ? 3 * i : 0);
    request.id = std::to_string(i);
    request.sampling.max_tokens = 24;
    if (i >= 2) request.sampling.temperature = 1.5;
    if (i >= 4) request.sampling.n = 3;
    requests.push_back(request);
  }
  std::vector<std::vector<Completion>> alone;
  for (const Request& request : requests)
    alone.push_back(open_demo("packed")->complete(request).value());
  for (const char* sharing : {"tree", "prefix_cached", "packed"}) {
    const auto together = open_demo(sharing)->complete_all(requests).value();
    for (size_t i = 0; i < requests.size(); ++i)
      for (size_t choice = 0; choice < alone[i].size(); ++choice) {
        EXPECT_EQ(together[i][choice].tokens, alone[i][choice].tokens) << sharing << " " << i;
        EXPECT_EQ(together[i][choice].logits_hash, alone[i][choice].logits_hash);
        EXPECT_EQ(together[i][choice].text, alone[i][choice].text);
      }
  }
}

TEST(MinTokens, MoreThanMaxTokensAreRefused) {
  Request request = asked(20);
  EXPECT_TRUE(open_demo()->complete(request).ok());
  request.sampling.min_tokens = 21;
  const auto refused = open_demo()->complete(request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message(), "min_tokens is 21, expected at most max_tokens, which is 20");
  EXPECT_EQ(refused.error().place.field, "min_tokens");
  request.sampling.min_tokens = -1;
  EXPECT_EQ(open_demo()->complete(request).error().message(), "min_tokens is -1, expected 0 or more");
}

}  // namespace
}  // namespace pando::testing
