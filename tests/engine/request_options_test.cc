// The table of request options: every row is sound, and its bounds are those that requests keep.
#include "pando/values/request_options.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "engine/option_values.h"
#include "engine/options.h"

namespace pando::testing {
namespace {

// Two tokens, whose prompt is scored: then max_tokens may be 0.
Status checked(const SamplingOptions& sampling) {
  Request request;
  request.tokens = {80, 80};
  request.sampling = sampling;
  request.sampling.logprobs = true;
  request.prompt_logprobs_from = 1;
  return check_request(request, {.vocab = 257, .max_positions = 640}, {.context = 640});
}

TEST(RequestOptions, EveryRowIsWhole) {
  std::set<std::string> names;
  for (const RequestOption& option : request_options()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name << " is there twice";
    EXPECT_TRUE(option.stands_in(kInLine)) << option.name;
    EXPECT_NE(*option.help, '\0') << option.name;
    const auto number = option_number(option, {});
    EXPECT_EQ(*option.expected != '\0', number.has_value()) << option.name;
    EXPECT_TRUE(!number || option.holds(*number)) << option.name << ": its default";
  }
}

TEST(RequestOptions, AreFoundWhereTheyMayStand) {
  ASSERT_NE(find_option("top_p", kInBody), nullptr);
  EXPECT_STREQ(find_option("top_p", kInBody)->name, "top_p");
  EXPECT_EQ(find_option("top_logprobs", kInBody), nullptr);
  EXPECT_EQ(find_option("top-p", kInLine), nullptr);
  EXPECT_EQ(find_option("", kInLine), nullptr);
}

TEST(RequestOptions, NumbersAreReadAndSet) {
  SamplingOptions sampling;
  set_option_number(*find_option("top_k", kInLine), 7, sampling);
  set_option_number(*find_option("temperature", kInLine), 0.25, sampling);
  EXPECT_EQ(sampling.top_k, 7);
  EXPECT_EQ(sampling.temperature, 0.25);
  EXPECT_EQ(option_number(*find_option("top_k", kInLine), sampling), 7);
  EXPECT_EQ(option_number(*find_option("stop", kInLine), sampling), std::nullopt);
  EXPECT_EQ(option_number(*find_option("ignore_eos", kInLine), sampling), std::nullopt);
}

TEST(RequestOptions, RequestsKeepTheBounds) {
  const std::vector<OptionValue> values = option_values(kInLine);
  ASSERT_GE(values.size(), 30u);
  for (const OptionValue& value : values) {
    SamplingOptions sampling;
    sampling.max_tokens = std::numeric_limits<int>::max();  // it bounds min_tokens
    set_option_number(*value.option, value.value, sampling);
    const Status status = checked(sampling);
    EXPECT_EQ(status.ok(), value.good) << value.message();
    if (value.good) continue;
    EXPECT_EQ(status.error().place.field, value.option->name);
    // max_tokens says besides when it may be 0.
    if (value.option->name != std::string("max_tokens")) {
      EXPECT_EQ(status.error().message(), value.message());
    }
  }
}

TEST(RequestOptions, WhatIsNoNumberIsOutOfAllBounds) {
  for (const RequestOption& option : request_options())
    if (std::holds_alternative<double SamplingOptions::*>(option.member))
      for (const double value : {NAN, INFINITY, -INFINITY}) {
        SamplingOptions sampling;
        set_option_number(option, value, sampling);
        const Status status = check_options(sampling);
        ASSERT_FALSE(status.ok()) << option.name << " " << value;
        EXPECT_EQ(status.error().place.field, option.name);
      }
}

}  // namespace
}  // namespace pando::testing
