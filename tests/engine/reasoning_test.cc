// Answers whose channels divide them into reasoning and content, as the engine tells them.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "engine/scripted_executor.h"
#include "engine/test_loop.h"
#include "text/channel_tokenizer.h"

namespace pando::testing {
namespace {

constexpr Token kEnd = 257, kReturn = 260, kCall = 261;
const std::string kAsked = "<|start|>user<|message|>2+2?<|end|><|start|>assistant";
const std::string kAnalysis = "<|channel|>analysis<|message|>";
const std::string kFinal = "<|end|><|start|>assistant<|channel|>final<|message|>";

const Tokenizer& tokenizer() {
  static const std::unique_ptr<Tokenizer> loaded = load_json(channel_tokenizer_json());
  return *loaded;
}
std::vector<Token> tokens_of(const std::string& text) {
  return tokenizer().encode(text, /*add_bos=*/false).value();
}

struct Told {
  std::string text, reasoning;  // of all events
  Completion completion;
};

// A loop in which the model would answer with `script`. end_ids: as the model's files have them.
std::unique_ptr<EngineLoop> loop_of(const std::string& script, std::vector<Token> end_ids) {
  static grammar::FormCache forms(tokenizer());
  const LoopOptions options = tiny_loop_options();
  LoopParts parts{.options = options,
                  .tokenizer = &tokenizer(),
                  .forms = &forms,
                  .end_ids = std::move(end_ids),
                  .max_positions = kTinyContext};
  EXPECT_TRUE(fill_in(parts.options.engine, kTinyContext).ok());
  parts.planner = std::move(make_technique("tree", options.tile_len).value().planner);
  parts.pool = std::make_unique<ThreadPool>(1);
  parts.executor = std::make_unique<ScriptedExecutor>(ExecutorFacts{.vocab = kChannelVocab,
                                                                    .d_model = 4,
                                                                    .page_len = options.page_len,
                                                                    .tile_len = options.tile_len,
                                                                    .n_pages = 100,
                                                                    .page_bytes = 64,
                                                                    .kv_capacity = 400,
                                                                    .longest_path = 400},
                                                      tokens_of(kAsked + script));
  return std::make_unique<EngineLoop>(std::move(parts));
}

Request asked(const SamplingOptions& sampling) {
  Request request;
  request.tokens = tokens_of(kAsked);
  request.messages.push_back({"user", "2+2?"});
  request.sampling = sampling;
  return request;
}

// Events of an answer that the model would write as `script`.
Told told(const std::string& script, const SamplingOptions& sampling,
          std::vector<Token> end_ids = {kReturn, kCall}, std::optional<int> budget = {}) {
  const std::unique_ptr<EngineLoop> loop = loop_of(script, std::move(end_ids));
  Told told;
  Request request = asked(sampling);
  request.thinking_budget = budget;
  const Status status = loop->submit(1, std::move(request), [&](const Event& event) {
    EXPECT_FALSE(event.error) << event.error->message();
    told.text += event.text;
    told.reasoning += event.reasoning;
    if (event.completion) told.completion = *event.completion;
  });
  EXPECT_TRUE(status.ok()) << status.error().message();
  for (int i = 0; i < 1000 && loop->step(); ++i) loop->deliver_events();
  loop->deliver_events();
  EXPECT_EQ(told.text, told.completion.text);
  EXPECT_EQ(told.reasoning, told.completion.reasoning);
  return told;
}

SamplingOptions three_digits() {
  SamplingOptions sampling{.max_tokens = 100};
  sampling.form = {.kind = TextForm::Kind::kRegex, .text = "[0-9]{3}"};
  return sampling;
}

// The script goes on at the same positions, whatever was forced.
TEST(Reasoning, ABudgetOpensTheFinalChannel) {
  const std::string forced(tokens_of(kFinal).size(), '_');
  const Told all =
      told(kAnalysis + "ab" + forced + "4<|return|>", {.max_tokens = 200}, {kReturn, kCall}, 2);
  EXPECT_EQ(all.reasoning, "ab");
  EXPECT_EQ(all.text, "4");
  EXPECT_EQ(all.completion.finish_reason, FinishReason::kStop);
}

TEST(Reasoning, IsToldBesideTheText) {
  const std::string answer = kAnalysis + "Easy: é" + kFinal + "4.<|return|>";
  const Told all = told(answer, {.max_tokens = 100});
  EXPECT_EQ(all.text, "4.");
  EXPECT_EQ(all.reasoning, "Easy: é");
  EXPECT_EQ(all.completion.finish_reason, FinishReason::kStop);
  EXPECT_EQ(all.completion.tokens, tokens_of(answer));
  const Told call =
      told("<|channel|>commentary to=functions.f<|message|>{}<|call|>", {.max_tokens = 100});
  EXPECT_EQ(call.text, "to=functions.f {}");
  EXPECT_EQ(call.completion.finish_reason, FinishReason::kStop);
}

TEST(Reasoning, MayBeAllThatMaxTokensAllow) {
  const Told cut = told(kAnalysis + "Easy" + kFinal + "4.", {.max_tokens = 12});
  EXPECT_EQ(cut.text, "");
  EXPECT_EQ(cut.reasoning, "Ea");  // <|channel|>, eight letters of its name, <|message|>
  EXPECT_EQ(cut.completion.finish_reason, FinishReason::kLength);
}

TEST(Reasoning, StopTextsEndTheContentAlone) {
  const Told stopped =
      told(kAnalysis + "a. b" + kFinal + "4. 5. 6.", {.max_tokens = 100, .stop = {". "}});
  EXPECT_EQ(stopped.text, "4");
  EXPECT_EQ(stopped.reasoning, "a. b");
  EXPECT_EQ(stopped.completion.finish_reason, FinishReason::kStop);
}

// The form is that of the content, and an answer does not end before it.
TEST(Reasoning, ComesBeforeAForm) {
  const Told all = told(kAnalysis + "Hm<|return|>x" + kFinal + "12abc", three_digits());
  EXPECT_EQ(all.text, "120");
  EXPECT_EQ(all.reasoning, std::string("Hm\0x", 4));  // where <|return|> would be, the first token
  EXPECT_EQ(all.completion.finish_reason, FinishReason::kStop);
}

// Some files name it as one.
TEST(Reasoning, EndsOfMessagesAreNoEndsOfAnswers) {
  const std::string answer = kAnalysis + "Hm" + kFinal + "123<|return|>";
  for (const SamplingOptions& sampling : {SamplingOptions{.max_tokens = 100}, three_digits()}) {
    const Told all = told(answer, sampling, {kEnd, kReturn, kCall});
    EXPECT_EQ(all.text, "123");
    EXPECT_EQ(all.reasoning, "Hm");
    EXPECT_EQ(all.completion.finish_reason, FinishReason::kStop);
  }
}

// The reasoning could not end.
TEST(Reasoning, AFormRefusesToStopAtTheEndOfAMessage) {
  SamplingOptions sampling = three_digits();
  sampling.stop_tokens = {65, kEnd};
  const std::unique_ptr<EngineLoop> loop = loop_of("", {kReturn, kCall});
  const Status refused = loop->check(asked(sampling));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.error().message(),
            "stop_token_ids has 257, which is <|end|>: the answer would stop after its reasoning, "
            "before the text of the required form");
  Request whole = asked(sampling);
  whole.messages.clear();  // nothing is divided
  EXPECT_TRUE(loop->check(whole).ok());
  // Without a form the answer is the reasoning.
  const Told stopped =
      told(kAnalysis + "Hm" + kFinal + "123", {.max_tokens = 100, .stop_tokens = {kEnd}});
  EXPECT_EQ(stopped.text, "");
  EXPECT_EQ(stopped.reasoning, "Hm");
  EXPECT_EQ(stopped.completion.finish_reason, FinishReason::kStop);
}

TEST(Reasoning, SpecialTokensThatGiveTextLeaveTheAnswerWhole) {
  const std::string answer = kAnalysis + "A" + kFinal + "4.";
  const Told whole = told(answer + "<|return|>", {.max_tokens = 100, .skip_special_tokens = false});
  EXPECT_EQ(whole.text, answer);
  EXPECT_EQ(whole.reasoning, "");
}

}  // namespace
}  // namespace pando::testing
