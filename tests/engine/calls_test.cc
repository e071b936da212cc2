// Answers with calls of tools, as the engine tells them.
#include <set>

#include "engine/scripted_answers.h"

namespace pando::testing::scripted {
namespace {

TEST(Calls, StandBesideTheText) {
  const Told one = told(kParis, asked());
  EXPECT_EQ(one.text, "");
  ASSERT_EQ(one.calls.size(), 1u);
  EXPECT_EQ(one.calls[0].name, "weather");
  EXPECT_EQ(one.calls[0].arguments, R"({"city": "Paris"})");
  EXPECT_EQ(one.calls[0].id.size(), 9u);
  EXPECT_EQ(one.calls[0].id.find_first_not_of(
                "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"),
            std::string::npos);
  EXPECT_EQ(one.completion.finish_reason, FinishReason::kStop);

  const Told two = told("Both.\n" + kParis + "\n" + kRome, asked());
  EXPECT_EQ(two.text, "Both.");
  ASSERT_EQ(two.calls.size(), 2u);
  EXPECT_EQ(two.calls[1].arguments, R"({"city": "Rome"})");
  EXPECT_EQ(two.calls[0].id, one.calls[0].id);  // of the same place in a request of the same id
  EXPECT_NE(two.calls[0].id, two.calls[1].id);
}

TEST(Calls, OneIsEnoughIfTheRequestSaysSo) {
  Request request = asked();
  request.calling.parallel = false;
  const Told all = told(kParis + "\n" + kRome, std::move(request));
  ASSERT_EQ(all.calls.size(), 1u);
  EXPECT_EQ(all.calls[0].arguments, R"({"city": "Paris"})");
  EXPECT_EQ(all.text, "");
  EXPECT_EQ(all.completion.finish_reason, FinishReason::kStop);
  EXPECT_LT(all.completion.tokens.size(), tokens_of(kParis + "\n" + kRome).size());
}

TEST(Calls, WhatIsBrokenIsText) {
  const std::string broken = "<tool_call>x{\"name\": \"weather\"}";  // in the mark's token
  EXPECT_EQ(told(broken, asked()).text, broken);
  const std::string other = R"({"name": "unknown", "arguments": {}})";
  EXPECT_EQ(told(other, asked()).text, other);
}

TEST(Calls, KeepToTheSchemaOnceTheyHaveBegun) {
  const std::string milan = R"("arguments": {"city": "Milan"}})";
  const std::string own = "Look: <tool_call>\n{\"name\": \"weather\", " + milan + "\n</tool_call>";
  EXPECT_EQ(tokens_of(own)[16], kChannelVocab) << "a token goes across the end of the mark";
  const Told one = told(own + " Done.", asked());
  EXPECT_EQ(one.text, "Look:Done.");
  ASSERT_EQ(one.calls.size(), 1u);
  EXPECT_EQ(one.calls[0].arguments, R"({"city": "Paris"})");
  EXPECT_EQ(one.completion.finish_reason, FinishReason::kStop);

  for (const char* before : {"", "```json\n", "[", "<tools>", "{"}) {
    const std::string bare = std::string(before) + "{\"name\":\n \"weather\", " + milan;
    const Told all = told(bare, asked());
    ASSERT_EQ(all.calls.size(), 1u) << bare;
    EXPECT_EQ(all.calls[0].arguments, R"({"city": "Paris"})");
  }
}

TEST(Calls, MarksMayBeSpecialTokens) {
  AnswerFormat special = format();
  special.calls->call_begin = "<|constrain|>";
  special.calls->call_end = "<|end|>";
  special.call_forms = std::make_shared<calls::CallForms>(&forms(), *special.calls);
  const std::string milan =
      R"(<|constrain|>{"name": "weather", "arguments": {"city": "Milan"}}<|end|>)";
  const Told begun = told(milan, asked(), special);
  ASSERT_EQ(begun.calls.size(), 1u);
  EXPECT_EQ(begun.calls[0].arguments, R"({"city": "Paris"})");
  Request request = asked();
  request.calling.required = true;
  EXPECT_EQ(told(milan, std::move(request), special).calls, begun.calls);
}

AnswerFormat channels() {
  AnswerFormat of_model{.channels = find_channel_tokens(tokenizer()),
                        .calls = *calls::call_format_named("harmony")};
  of_model.calls->prompt_ends = {"<|start|>assistant"};
  of_model.call_forms = std::make_shared<calls::CallForms>(&forms(), *of_model.calls);
  return of_model;
}

TEST(Calls, KeepToTheSchemaInChannels) {
  const AnswerFormat format = channels();
  for (const char* before : {"", "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant"}) {
    const Told one = told(std::string(before) +
                              "<|channel|>commentary to=functions.weather "
                              "<|constrain|>json<|message|>{\"city\": \"Milan\"}",
                          asked(kAsked + "<|start|>assistant"), format);
    ASSERT_EQ(one.calls.size(), 1u) << before;
    EXPECT_EQ(one.calls[0].arguments, R"({"city": "Paris"})");
  }
}

TEST(Calls, RequiredStandBehindReasoningInChannels) {
  const AnswerFormat format = channels();
  Request request = asked(kAsked + "<|start|>assistant");
  request.calling.required = true;
  for (const bool forces_tokens : {true, false})
    for (const char* start : {"", "<|start|>assistant"}) {
      const Told one = told("<|channel|>analysis<|message|>Hm.<|end|>" + std::string(start) +
                                "<|channel|>commentary to=functions.weather "
                                "<|constrain|>json<|message|>{\"city\": \"Rome\"}",
                            request, format, forces_tokens);
      EXPECT_EQ(one.reasoning, "Hm.");
      EXPECT_EQ(one.text, "");
      ASSERT_EQ(one.calls.size(), 1u);
      EXPECT_EQ(one.calls[0].arguments, R"({"city": "Rome"})");
    }
  request.sampling.stop_tokens = {format.channels->end};
  const std::unique_ptr<EngineLoop> loop = loop_of("x", request, format, true);
  EXPECT_EQ(loop->check(request).error().place.field, "stop_token_ids");
}

// Tokens of "{" and all behind it are unknown to the masks.
TEST(Calls, GoOnWhereTheyCannotBeEnforced) {
  grammar::FormCache few(tokenizer(), grammar::kMostFormBytes, '{');
  AnswerFormat of_few = format();
  of_few.call_forms = std::make_shared<calls::CallForms>(&few, *of_few.calls);
  const Told all = told(R"({"name": "weather", "arguments": {"city": "Milan"}} and a text behind)",
                        asked(), of_few);
  EXPECT_EQ(all.completion.finish_reason, FinishReason::kStop);
  EXPECT_TRUE(all.text.ends_with("and a text behind")) << all.text;
}

TEST(Calls, OfOtherToolsCannotBeWritten) {
  Request request = asked();
  request.calling.allowed = {"clock"};
  const Told all =
      told("<tool_call>\n{\"name\": \"weather\", \"arguments\": {}}", std::move(request));
  ASSERT_EQ(all.calls.size(), 1u);
  EXPECT_EQ(all.calls[0].name, "clock");
}

TEST(Calls, RequiredBeginWithTheAnswer) {
  Request request = asked(kAsked + "<think>");
  request.calling.required = true;
  const Told one = told("Hm.</think>It is sunny.", request);
  EXPECT_EQ(one.reasoning, "Hm.");
  EXPECT_EQ(one.text, "");
  ASSERT_GE(one.calls.size(), 1u);
  EXPECT_EQ(one.completion.finish_reason, FinishReason::kStop);

  request = asked();
  request.calling.required = true;
  const Told two = told(kParis + "\n" + kRome, request);
  ASSERT_EQ(two.calls.size(), 2u);
  EXPECT_EQ(two.calls[1].arguments, R"({"city": "Rome"})");
  request.calling.parallel = false;
  EXPECT_EQ(told(kParis + "\n" + kRome, request).calls.size(), 1u);
  request.calling.allowed = {"clock"};
  const Told named = told(kParis, request);
  ASSERT_EQ(named.calls.size(), 1u);
  EXPECT_EQ(named.calls[0].name, "clock");
  EXPECT_EQ(named.calls[0].arguments, "{}");
}

TEST(Calls, RequiredStandBehindReasoningThatTheAnswerOpens) {
  Request request = asked();
  request.calling.required = true;
  const Told one = told("<think>Hm.</think>\n" + kRome, request);
  EXPECT_EQ(one.reasoning, "Hm.");
  EXPECT_EQ(one.text, "");
  ASSERT_EQ(one.calls.size(), 1u);
  EXPECT_EQ(one.calls[0].arguments, R"({"city": "Rome"})");
  request = asked(kAsked + "<think></think>");  // the prompt closes it
  request.calling.required = true;
  EXPECT_EQ(told("<think>Hm.</think>\n" + kRome, request).reasoning, "");
}

TEST(Calls, AFormStandsBehindReasoningThatTheAnswerOpens) {
  Request request = asked(kAsked, /*offers=*/false);
  request.sampling.form = {.kind = TextForm::Kind::kRegex, .text = "[0-9]+"};
  const Told one = told("<think>Hm 7.</think>12", request);
  EXPECT_EQ(one.reasoning, "Hm 7.");
  EXPECT_TRUE(one.text.starts_with("12")) << one.text;
}

TEST(Calls, AnAnswerHasItsFormOrIsACall) {
  Request request = asked();
  request.sampling.form = {.kind = TextForm::Kind::kRegex, .text = "[0-9]{3}"};
  for (const bool forces_tokens : {false, true}) {
    const auto of = [&](const std::string& script) {
      Told all = told(script, request, format(), forces_tokens);
      EXPECT_EQ(all.completion.finish_reason, FinishReason::kStop) << script;
      return all;
    };
    EXPECT_EQ(of("123").text, "123");
    EXPECT_TRUE(of("123").calls.empty());
    for (const std::string& call :
         {kRome, std::string(R"({"name": "weather", "arguments": {"city": "Rome"}})"),
          kRome + "\n" + kParis, "<think>Hm.</think>" + kRome}) {
      const Told all = of(call);
      EXPECT_EQ(all.text, "") << call;
      ASSERT_EQ(all.calls.size(), 1u) << call;
      EXPECT_EQ(all.calls[0].arguments, R"({"city": "Rome"})") << call;
    }
    const Told bent = of("It is sunny.");
    EXPECT_EQ(bent.calls.empty(), bent.text.size() == 3) << bent.text;
  }
}

TEST(Calls, MaxTokensCut) {
  for (const bool required : {false, true}) {
    Request request = asked();
    request.calling.required = required;
    request.sampling.max_tokens = 30;
    const Told cut = told(kParis, std::move(request));
    EXPECT_EQ(cut.completion.finish_reason, FinishReason::kLength);
    EXPECT_TRUE(cut.calls.empty());
    EXPECT_TRUE(cut.text.starts_with("<tool_call>\n{\"name\": \"we")) << cut.text;
  }
}

TEST(Calls, WhatCannotBeRequiredIsRefused) {
  const auto refused = [](Request request) {
    request.calling.required = true;
    const Result<calls::CallFormPtr> form = call_form_of(format(), request);
    return form.ok() ? "" : form.error().place.field;
  };
  EXPECT_EQ(refused(asked()), "");
  EXPECT_EQ(refused(asked(kAsked, /*offers=*/false)), "tool_choice");
  Request request = asked();
  request.calling.allowed = {"unknown"};
  EXPECT_EQ(refused(request), "tool_choice");
  request = asked();
  request.sampling.form = {.kind = TextForm::Kind::kJsonObject};
  EXPECT_EQ(refused(request), "tool_choice");
  request = asked();
  request.chat.tools = JsonValue::parse(R"([{"type": "function", "function": {"name": "f",
      "parameters": {"properties": {"x": {"type": "array", "uniqueItems": true}}}}}])")
                           .value();
  EXPECT_EQ(refused(request), "tools[0].function.parameters");
  request = asked();
  request.separate_reasoning = false;
  EXPECT_EQ(refused(request), "tool_choice");
  request.calling.strict = true;
  EXPECT_EQ(call_form_of(format(), request).error().place.field, "tools");
}

TEST(Calls, WithoutToolsAreText) {
  const Told all = told(kParis, asked(kAsked, /*offers=*/false));
  EXPECT_EQ(all.text, kParis);
  EXPECT_TRUE(all.calls.empty());
}

}  // namespace
}  // namespace pando::testing::scripted
