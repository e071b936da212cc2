// Values arrive in another process as they were.
#include "api/request_bytes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "json_literal.h"

namespace pando {
namespace {

using testing::operator""_value;

template <class T>
std::vector<std::byte> bytes_of(const T& value) {
  ByteWriter writer;
  writer.write(value);
  return writer.take();
}

template <class T>
T back_and_forth(const T& value) {
  const std::vector<std::byte> bytes = bytes_of(value);
  ByteReader reader(bytes);
  T read = reader.read<T>();
  EXPECT_TRUE(reader.is_over());
  EXPECT_EQ(bytes_of(read), bytes);
  return read;
}

TEST(RequestBytes, ARequestComesBack) {
  Request request{
      .id = "d/1",
      .prompt = std::string("a\0b\xff", 4),
      .messages = {{.role = "user",
                    .content = "Hi",
                    .fields = R"({"b": [1.0, null], "a": {"n": 18446744073709551616}})"_value},
                   {.role = "assistant"}},
      .tokens = {1, 2, 3},
      .chat = {.thinking = true,
               .tools = "[true, -1]"_value,
               .now = LocalTime{.year = 2026, .second = 59}},
      .add_special_tokens = false,
      .separate_reasoning = true,
      .truncate_prompt_tokens = 5,
      .truncate_at_end = true,
      .sampling = {.max_tokens = 7,
                   .temperature = 0.1,
                   .logit_bias = {{3, -1.5}, {9, 2}},
                   .seed = UINT64_MAX,
                   .n = 4,
                   .stop = {"x", ""},
                   .stop_tokens = {11},
                   .top_logprobs = 2,
                   .form = TextForm{.kind = TextForm::Kind::kRegex,
                                    .text = "a",
                                    .choices = {"b"},
                                    .schema = R"({"type": "null"})"_value}},
      .prompt_logprobs_from = 1,
      .alternatives = {5, 6},
      .pooling = Pooling::kMean,
      .unpooled = "q: ",
      .pooled_from = 2,
      .cut_tokens = 9,
      .isolation_key = 8,
      .n_public = 2,
      .cached = false,
      .ttft_slo = 0.5,
      .tpot_slo = 0.25,
      .deadline_class = "c",
      .tokens_beside = 3,
      .tokens_behind = 1,
      .logits_hash = true};
  const Request read = back_and_forth(request);
  EXPECT_EQ(read.sampling.form, request.sampling.form);
  EXPECT_EQ(read.id, "d/1");
  EXPECT_EQ(read.prompt, request.prompt);
  ASSERT_EQ(read.messages.size(), 2u);
  EXPECT_EQ(read.messages[0].fields, request.messages[0].fields);
  EXPECT_EQ(read.chat.tools, request.chat.tools);
  EXPECT_EQ(read.messages[1].role, "assistant");
  EXPECT_EQ(read.unpooled, "q: ");
  EXPECT_EQ(read.pooled_from, 2);
  EXPECT_EQ(read.cut_tokens, 9);
  EXPECT_EQ(read.tokens, request.tokens);
  EXPECT_EQ(read.chat.now->second, 59);
  EXPECT_EQ(read.add_special_tokens, false);
  EXPECT_EQ(read.separate_reasoning, true);
  EXPECT_EQ(read.sampling.logit_bias, request.sampling.logit_bias);
  EXPECT_EQ(read.sampling.seed, UINT64_MAX);
  EXPECT_EQ(read.sampling.stop, request.sampling.stop);
  EXPECT_EQ(read.sampling.temperature, 0.1);
  EXPECT_EQ(read.pooling, Pooling::kMean);
  EXPECT_FALSE(read.cached);
  EXPECT_EQ(read.deadline_class, "c");
  EXPECT_TRUE(read.logits_hash);
}

// The clock of another process is not this one's.
TEST(RequestBytes, ATimeStaysHere) {
  Request request;
  request.sent = std::chrono::steady_clock::now();
  EXPECT_FALSE(back_and_forth(request).sent.has_value());
}

TEST(RequestBytes, ACompletionComesBackBitByBit) {
  Completion completion;
  completion.choice = 2;
  completion.text = "t";
  completion.reasoning = "r";
  completion.logprobs = {{.token = 4, .logprob = -0.0F, .likeliest = true, .top = {{4, -1e-40F}}}};
  completion.finish_reason = FinishReason::kContext;
  completion.stop_text = "s";
  completion.embedding = {0.1F, -INFINITY};
  completion.logits_hash = 77;
  completion.choice_logprobs = {-0.5, -HUGE_VAL};
  const Completion read = back_and_forth(completion);
  EXPECT_EQ(read.choice, 2);
  EXPECT_EQ(read.reasoning, "r");
  EXPECT_TRUE(std::signbit(read.logprobs.at(0).logprob));
  EXPECT_EQ(read.logprobs[0].top.at(0).second, -1e-40F);
  EXPECT_EQ(read.finish_reason, FinishReason::kContext);
  EXPECT_EQ(read.stop_text, "s");
  EXPECT_EQ(read.embedding, completion.embedding);
  EXPECT_EQ(read.logits_hash, 77u);
  EXPECT_EQ(read.choice_logprobs, completion.choice_logprobs);
}

TEST(RequestBytes, EngineOptionsAndCountersComeBack) {
  EngineOptions options;
  options.sharing = "packed";
  options.deadline_classes["fast"] = {.ttft_slo = 0.1};
  options.packing.aging = 5;
  options.isa = "avx2";
  const EngineOptions read = back_and_forth(options);
  EXPECT_EQ(read.sharing, "packed");
  EXPECT_EQ(read.deadline_classes.at("fast").ttft_slo, 0.1);
  EXPECT_EQ(read.packing.aging, 5);
  EXPECT_EQ(read.isa, "avx2");

  EngineStats stats;
  stats.prefill_rows = 3;
  stats.step_s = 0.5;
  stats.tree_nodes = 9;
  stats.figures = {{"f", 2}};
  EngineStats sum = back_and_forth(stats);
  sum.add(stats);
  EXPECT_EQ(sum.prefill_rows, 6u);
  EXPECT_EQ(sum.step_s, 1);
  EXPECT_EQ(sum.tree_nodes, 18u);
  EXPECT_EQ(sum.figures.at(0).name, "f");
  EXPECT_EQ(sum.since(stats).prefill_rows, 3u);
}

TEST(RequestBytes, WhatEndsEarlyIsRefused) {
  Request request;
  request.prompt = "A prompt.";
  request.tokens = {1, 2, 3};
  const std::vector<std::byte> bytes = bytes_of(request);
  for (size_t n = 0; n < bytes.size(); ++n)
    EXPECT_THROW(ByteReader(std::span(bytes).first(n)).read<Request>(), std::runtime_error) << n;
}

}  // namespace
}  // namespace pando
