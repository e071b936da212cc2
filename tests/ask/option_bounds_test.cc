// The bounds of every request option, by a line and by a body of an OpenAI batch.
#include <gtest/gtest.h>

#include <limits>

#include "ask/parsed_line.h"
#include "base/json.h"
#include "engine/option_values.h"
#include "engine/options.h"

namespace pando::testing {
namespace {

constexpr int kMost = std::numeric_limits<int>::max();  // of max_tokens, which bounds min_tokens

// Why a line is refused, when it is read or when the engine is asked.
Status asked(const Json& line) {
  const Result<std::unique_ptr<ask::Line>> read = parse_line(line.dump(), 1, {});
  if (!read) return read.error();
  if ((*read)->refused) return *(*read)->refused;
  Request request = (*read)->questions[0].request;
  request.tokens = {80, 80};
  return check_request(request, {.vocab = 257, .max_positions = 640}, {.context = 640});
}

void expect_bounds(const OptionValue& value, const Status& status) {
  EXPECT_EQ(status.ok(), value.good) << value.message();
  if (value.good || status.ok()) return;
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(status.error().place.field, value.option->name);
  // max_tokens says besides when it may be 0.
  if (value.option->name != std::string("max_tokens")) {
    EXPECT_EQ(status.error().message(), value.message());
  }
}

TEST(OptionBounds, OfLines) {
  for (const OptionValue& value : option_values(kInLine)) {
    Json line = {
        {"prompt", "PP"}, {"logprobs", true}, {"prompt_logprobs", true}, {"max_tokens", kMost}};
    line[value.option->name] = value.value;
    expect_bounds(value, asked(line));
  }
}

TEST(OptionBounds, OfBodies) {
  for (const OptionValue& value : option_values(kInBody)) {
    Json body = {{"prompt", "PP"}, {"logprobs", 1}, {"echo", true}, {"max_tokens", kMost}};
    if (value.option->name == std::string("n")) body["best_of"] = value.value;
    body[value.option->name] = value.value;
    expect_bounds(
        value,
        asked(
            {{"custom_id", "a"}, {"method", "POST"}, {"url", "/v1/completions"}, {"body", body}}));
  }
}

TEST(OptionBounds, MinTokensAreAtMostMaxTokens) {
  const Json options = {{"prompt", "PP"}, {"max_tokens", 8}, {"min_tokens", 9}};
  for (Json one : {options, Json{{"custom_id", "a"},
                                 {"method", "POST"},
                                 {"url", "/v1/completions"},
                                 {"body", options}}}) {
    const Status status = asked(one);
    ASSERT_FALSE(status.ok()) << one;
    EXPECT_EQ(status.error().message(), "min_tokens is 9, expected at most max_tokens, which is 8");
    EXPECT_EQ(status.error().place.field, "min_tokens");
    (one.contains("body") ? one["body"] : one)["min_tokens"] = 8;
    EXPECT_TRUE(asked(one).ok()) << one;
  }
}

TEST(OptionBounds, OptionsOfOtherTypesAreReadByLineAndBody) {
  const Json options = {{"stop", {"x"}},      {"stop_token_ids", {5}},
                        {"ignore_eos", true}, {"skip_special_tokens", false},
                        {"seed", 7},          {"logit_bias", {{"3", 1.5}}}};
  Json line = options, body = options;
  line["prompt"] = body["prompt"] = "P";
  for (const Json& one :
       {line,
        Json{{"custom_id", "a"}, {"method", "POST"}, {"url", "/v1/completions"}, {"body", body}}}) {
    const Result<std::unique_ptr<ask::Line>> read = parse_line(one.dump(), 1, {});
    ASSERT_TRUE(read.ok() && !(*read)->refused) << one;
    const SamplingOptions& sampling = (*read)->questions[0].request.sampling;
    EXPECT_EQ(sampling.stop, std::vector<std::string>{"x"});
    EXPECT_EQ(sampling.stop_tokens, std::vector<Token>{5});
    EXPECT_TRUE(sampling.ignore_eos);
    EXPECT_FALSE(sampling.skip_special_tokens);
    EXPECT_EQ(sampling.seed, 7u);
    EXPECT_EQ(sampling.logit_bias, (std::map<Token, double>{{3, 1.5}}));
  }
}

}  // namespace
}  // namespace pando::testing
