// Answers with calls of tools, as the engine tells them.
#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "engine/scripted_executor.h"
#include "engine/test_loop.h"
#include "text/calls/call_format.h"
#include "text/channel_tokenizer.h"

namespace pando::testing {
namespace {

constexpr Token kReturn = 260;
constexpr int kVocab = kChannelVocab + 3;
const std::string kAsked = "Weather?";
const std::string kParis = R"(<tool_call>
{"name": "weather", "arguments": {"city": "Paris"}}
</tool_call>)";
const std::string kRome = R"(<tool_call>
{"name": "weather", "arguments": {"city": "Rome"}}
</tool_call>)";

const Tokenizer& tokenizer() {
  static const std::unique_ptr<Tokenizer> loaded = [] {
    Json json = channel_tokenizer_json();
    int id = kChannelVocab;
    for (const char* content : {">\n{\"na", ">x"})  // across the end of a mark
      json["added_tokens"].push_back(added_token(id++, content, /*special=*/false));
    json["added_tokens"].push_back(added_token(id++, "<think>", /*special=*/true));
    return load_json(json);
  }();
  return *loaded;
}
std::vector<Token> tokens_of(const std::string& text) {
  return tokenizer().encode(text, /*add_bos=*/false).value();
}

grammar::FormCache& forms() {
  static grammar::FormCache all(tokenizer());
  return all;
}

const AnswerFormat& format() {
  static const AnswerFormat kFormat = [] {
    AnswerFormat of_model{.calls = *calls::call_format_named("hermes")};
    of_model.calls->reasoning_begin = "<think>";
    of_model.calls->reasoning_end = "</think>";
    of_model.calls->prompt_ends = {"<think>"};
    of_model.call_forms = std::make_shared<calls::CallForms>(&forms(), *of_model.calls);
    of_model.opening = find_opening(tokenizer(), *of_model.calls);
    return of_model;
  }();
  return kFormat;
}

struct Told {
  std::string text, reasoning;  // of all events
  std::vector<ToolCall> calls;
  Completion completion;
};

Request asked(const std::string& prompt = kAsked, bool offers = true) {
  Request request;
  request.id = "r";
  request.tokens = tokens_of(prompt);
  request.messages.push_back({"user", prompt});
  request.sampling.max_tokens = 300;
  if (offers)
    request.chat.tools = JsonValue::parse(R"([{"type": "function", "function": {
        "name": "weather", "parameters": {"type": "object", "properties": {
          "city": {"enum": ["Paris", "Rome"]}}, "required": ["city"]}}},
      {"type": "function", "function": {"name": "clock"}}])")
                             .value();
  return request;
}

// A loop in which the model answers a request with `script`.
std::unique_ptr<EngineLoop> loop_of(const std::string& script, const Request& request,
                                    const AnswerFormat& format, bool forces_tokens) {
  LoopOptions options = tiny_loop_options();
  options.forces_tokens = forces_tokens;
  LoopParts parts{.options = options,
                  .tokenizer = &tokenizer(),
                  .forms = &forms(),
                  .answers = &format,
                  .end_ids = {kReturn},
                  .max_positions = kTinyContext};
  EXPECT_TRUE(fill_in(parts.options.engine, kTinyContext).ok());
  parts.planner = std::move(make_technique("tree", options.tile_len).value().planner);
  parts.pool = std::make_unique<ThreadPool>(1);
  std::vector<Token> all = request.tokens;
  for (const Token token : tokens_of(script + "<|return|>")) all.push_back(token);
  parts.executor = std::make_unique<ScriptedExecutor>(ExecutorFacts{.vocab = kVocab,
                                                                    .d_model = 4,
                                                                    .page_len = options.page_len,
                                                                    .tile_len = options.tile_len,
                                                                    .n_pages = 100,
                                                                    .page_bytes = 64,
                                                                    .kv_capacity = 600,
                                                                    .longest_path = 600},
                                                      std::move(all));
  return std::make_unique<EngineLoop>(std::move(parts));
}

// The answer of a model that writes `script`.
Told told(const std::string& script, Request request, const AnswerFormat& of = format(),
          bool forces_tokens = true) {
  const std::unique_ptr<EngineLoop> loop = loop_of(script, request, of, forces_tokens);
  Told told;
  const Status status = loop->submit(1, std::move(request), [&](const Event& event) {
    ASSERT_FALSE(event.error) << event.error->message();
    told.text += event.text;
    told.reasoning += event.reasoning;
    told.calls.insert(told.calls.end(), event.calls.begin(), event.calls.end());
    if (event.completion) told.completion = *event.completion;
  });
  EXPECT_TRUE(status.ok()) << status.error().message();
  for (int i = 0; i < 2000 && loop->step(); ++i) loop->deliver_events();
  loop->deliver_events();
  EXPECT_EQ(told.text, told.completion.text);
  EXPECT_EQ(told.reasoning, told.completion.reasoning);
  EXPECT_EQ(told.calls, told.completion.calls);
  return told;
}

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

TEST(Calls, ReasoningComesApart) {
  const Told own = told("<think>Why?</think>\n\nSunny.", asked(kAsked, /*offers=*/false));
  EXPECT_EQ(own.reasoning, "Why?");
  EXPECT_EQ(own.text, "Sunny.");
  const Told begun = told("Why?</think>" + kParis, asked(kAsked + "<think>"));
  EXPECT_EQ(begun.reasoning, "Why?");
  EXPECT_EQ(begun.text, "");
  EXPECT_EQ(begun.calls.size(), 1u);
}

// The script goes on at the same positions, whatever was forced.
TEST(Calls, ABudgetEndsTheReasoning) {
  const std::string end = "</think>", script = "0123456789abcdefghijklmnopqrstuvw.";
  for (const int budget : {0, 1, 5}) {
    Request request = asked(kAsked + "<think>", /*offers=*/false);
    request.thinking_budget = budget;
    const Told all = told(script, request);
    const auto n = static_cast<size_t>(budget);
    EXPECT_EQ(all.reasoning, script.substr(0, n)) << budget;
    EXPECT_EQ(all.text, script.substr(n + end.size())) << budget;
    EXPECT_EQ(all.completion.tokens,
              tokens_of(script.substr(0, n) + end + script.substr(n + end.size()) + "<|return|>"));

    request.sampling.max_tokens = budget + 3;  // it may end inside the forced text
    const Told cut = told(script, request);
    EXPECT_EQ(cut.completion.finish_reason, FinishReason::kLength);
    EXPECT_EQ(cut.completion.tokens, tokens_of(script.substr(0, n) + end.substr(0, 3)));
  }
}

// Rows of forced tokens are computed together or one by one.
TEST(Calls, ABudgetChangesNoRow) {
  for (const int budget : {0, 3}) {
    Request request = asked(kAsked + "<think>", /*offers=*/false);
    request.thinking_budget = budget;
    request.logits_hash = true;
    const std::string script = "0123456789abcdefghijklmnopqrstuvw.";
    const Told together = told(script, request), apart = told(script, request, format(), false);
    EXPECT_EQ(together.completion.tokens, apart.completion.tokens);
    EXPECT_EQ(together.completion.logits_hash, apart.completion.logits_hash);
    EXPECT_EQ(together.text, apart.text);
  }
}

TEST(Calls, BudgetsKeepApartInCompany) {
  const std::string script = "0123456789abcdefghijklmnopqrstuvw.";
  const auto with_budget = [&](int budget) {
    Request request = asked(kAsked + "<think>", /*offers=*/false);
    request.id = std::to_string(budget);
    request.thinking_budget = budget;
    request.sampling.n = 2;
    request.logits_hash = true;
    return request;
  };
  constexpr int kBudgets = 6;
  const std::unique_ptr<EngineLoop> loop = loop_of(script, with_budget(0), format(), true);
  std::vector<std::vector<Completion>> together(kBudgets);
  for (int budget = 0; budget < kBudgets; ++budget) {
    const Status status = loop->submit(static_cast<RequestId>(budget + 1), with_budget(budget),
                                       [&, budget](const Event& event) {
                                         ASSERT_FALSE(event.error) << event.error->message();
                                         if (event.completion)
                                           together[budget].push_back(*event.completion);
                                       });
    EXPECT_TRUE(status.ok()) << status.error().message();
  }
  for (int i = 0; i < 2000 && loop->step(); ++i) loop->deliver_events();
  loop->deliver_events();
  for (int budget = 0; budget < kBudgets; ++budget) {
    Request request = with_budget(budget);
    request.sampling.n = 1;
    const Completion alone = told(script, std::move(request)).completion;
    ASSERT_EQ(together[budget].size(), 2u);
    for (const Completion& one : together[budget]) {
      EXPECT_EQ(one.tokens, alone.tokens) << budget;
      EXPECT_EQ(one.logits_hash, alone.logits_hash) << budget;
      EXPECT_EQ(one.reasoning, alone.reasoning) << budget;
    }
  }
}

TEST(Calls, ABudgetNeedsMarks) {
  const auto refused = [](Request request) {
    request.thinking_budget = request.thinking_budget.value_or(4);
    const std::unique_ptr<EngineLoop> loop = loop_of("x", request, format(), true);
    const Status status = loop->check(request);
    EXPECT_FALSE(status.ok());
    return status.ok() ? Error{} : status.error();
  };
  Request prompt = asked(kAsked, /*offers=*/false);
  prompt.messages.clear();
  EXPECT_EQ(refused(prompt).place.field, "thinking_budget");
  Request negative = asked(kAsked, /*offers=*/false);
  negative.thinking_budget = -1;
  EXPECT_EQ(refused(negative).message(), "thinking_budget is -1, expected 0 or more");
}

TEST(Calls, ABudgetCountsReasoningAlone) {
  Request request = asked(kAsked, /*offers=*/false);
  request.thinking_budget = 4;
  const Told within = told("<think>Why?</think>\n\nA long and sunny day.", request);
  EXPECT_EQ(within.reasoning, "Why?");
  EXPECT_EQ(within.text, "A long and sunny day.");
  const Told without = told("A long and sunny day.", request);
  EXPECT_EQ(without.text, "A long and sunny day.");
  const Told longer = told("<think>Why not?????????Sunny.", request);
  EXPECT_EQ(longer.reasoning, "Why");
  EXPECT_EQ(longer.text, "????Sunny.");
}

TEST(Calls, AFormBeginsBehindABudget) {
  Request request = asked(kAsked + "<think>", /*offers=*/false);
  request.thinking_budget = 2;
  request.sampling.form = {.kind = TextForm::Kind::kRegex, .text = "[0-9]{3}"};
  const Told all = told("ab________x23", std::move(request));
  EXPECT_EQ(all.reasoning, "ab");
  EXPECT_EQ(all.text, "023");  // the likeliest token has not the form
  EXPECT_EQ(all.completion.finish_reason, FinishReason::kStop);
}

TEST(Calls, AFormBeginsBehindTheReasoning) {
  Request request = asked(kAsked + "<think>", /*offers=*/false);
  request.sampling.form = {.kind = TextForm::Kind::kRegex, .text = "[0-9]{3}"};
  const Told all = told("Which?</think>123", std::move(request));
  EXPECT_EQ(all.reasoning, "Which?");
  EXPECT_EQ(all.text, "123");
}

}  // namespace
}  // namespace pando::testing
