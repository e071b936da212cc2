// Many questions about one context.
#include "pando/answer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "engine/tiny_engine.h"
#include "pando/score.h"

namespace pando::testing {
namespace {

const std::string kContext = "Trees of one clone share their roots. The oldest is called Pando.";
const std::vector<std::string> kQuestions = {"What is shared?", "What is it called?",
                                             "What is shared?", "", "Wo stehen die Bäume?"};

AnswerOptions answer_options() {
  AnswerOptions options;
  options.sampling.max_tokens = 10;
  options.sampling.ignore_eos = true;
  options.logits_hash = true;
  return options;
}

void expect_as_separate_calls(const AnswerOptions& options) {
  const std::unique_ptr<Engine> engine = open_tiny();
  const auto answers = answer(*engine, kContext, kQuestions, options);
  ASSERT_TRUE(answers.ok()) << answers.error().message();
  ASSERT_EQ(answers->size(), kQuestions.size());
  for (size_t i = 0; i < kQuestions.size(); ++i) {
    Request request;
    request.id = std::to_string(i);
    request.prompt = render_prompt(options, kContext, kQuestions[i]);
    request.sampling = options.sampling;
    request.logits_hash = true;
    const auto alone = open_tiny()->complete(request);
    ASSERT_TRUE(alone.ok());
    ASSERT_EQ((*answers)[i].size(), static_cast<size_t>(options.sampling.n));
    for (int choice = 0; choice < options.sampling.n; ++choice) {
      const Completion& completion = (*answers)[i][choice];
      EXPECT_EQ(completion.choice, choice);
      EXPECT_EQ(completion.tokens, (*alone)[choice].tokens);
      EXPECT_EQ(completion.text, (*alone)[choice].text);
      EXPECT_EQ(completion.logits_hash, (*alone)[choice].logits_hash);
    }
  }
}

TEST(Answer, EqualsSeparateCalls) { expect_as_separate_calls(answer_options()); }

TEST(Answer, EqualsSeparateCallsWhenSampled) {
  AnswerOptions options = answer_options();
  options.sampling.n = 3;
  options.sampling.temperature = 1.5;
  expect_as_separate_calls(options);
}

TEST(Answer, ChoicesAreScoredAsEachAlone) {
  AnswerOptions options = answer_options();
  options.prompt_template = "{context} {question} ";  // behind which "x" is one token
  options.choices = {"x", "y", "zz", "w"};
  const auto answers = answer(*open_tiny(), kContext, kQuestions, options);
  ASSERT_TRUE(answers.ok()) << answers.error().message();
  ASSERT_EQ(answers->size(), kQuestions.size());
  for (size_t i = 0; i < kQuestions.size(); ++i) {
    const std::string prompt = render_prompt(options, kContext, kQuestions[i]);
    std::vector<double> logprobs;
    for (const std::string& choice : options.choices)
      logprobs.push_back((*score(*open_tiny(), prompt, {choice}))[0].logprob);
    EXPECT_EQ((*answers)[i][0].choice_logprobs, logprobs);
    const size_t best = std::ranges::max_element(logprobs) - logprobs.begin();
    EXPECT_EQ((*answers)[i][0].text, options.choices[best]);
    EXPECT_EQ((*answers)[i][0].prompt_tokens, static_cast<int>(prompt.size()));
  }
}

TEST(Answer, ComputesTheContextOnce) {
  const std::unique_ptr<Engine> engine = open_tiny();
  AnswerOptions options = answer_options();
  options.prompt_template = "{context}{question}";
  ASSERT_TRUE(answer(*engine, kContext, {"a", "b", "c"}, options).ok());
  EXPECT_EQ(engine->stats().prefill_rows, kContext.size() + 3);
}

TEST(Answer, AsAConversation) {
  AnswerOptions options = answer_options();
  options.chat = true;
  options.instruction = "Be brief.";
  options.chat_options.thinking = true;
  const auto chat = answer(*open_tiny(), "C", {"Q"}, options);
  options.chat = false;
  options.prompt_template =
      "system: Be brief.\nuser: {context}\n\nQuestion: {question}\nAnswer:\nassistant: (thinking)";
  const auto plain = answer(*open_tiny(), "C", {"Q"}, options);
  ASSERT_TRUE(chat.ok() && plain.ok());
  EXPECT_EQ((*chat)[0][0].logits_hash, (*plain)[0][0].logits_hash);
  EXPECT_EQ((*chat)[0][0].text, (*plain)[0][0].text);
}

TEST(Answer, MoreQuestionsThanTheEngineTakesAtATime) {
  EngineOptions options = tiny_options();
  options.max_open = 3;
  const std::unique_ptr<Engine> engine = open_tiny(options);
  std::vector<std::string> questions;
  for (int i = 0; i < 20; ++i) questions.push_back("Question " + std::to_string(i) + "?");
  const auto few = answer(*engine, kContext, questions, answer_options());
  const auto all = answer(*open_tiny(), kContext, questions, answer_options());
  ASSERT_TRUE(few.ok()) << few.error().message();
  for (size_t i = 0; i < questions.size(); ++i)
    EXPECT_EQ((*few)[i][0].logits_hash, (*all)[i][0].logits_hash);
}

TEST(Answer, NoQuestions) {
  const auto answers = answer(*open_tiny(), kContext, {}, answer_options());
  ASSERT_TRUE(answers.ok());
  EXPECT_TRUE(answers->empty());
}

TEST(Answer, TheFirstErrorEndsTheCall) {
  const std::unique_ptr<Engine> engine = open_tiny();
  const auto too_long =
      answer(*engine, kContext, {"fine", std::string(700, 'x'), "fine"}, answer_options());
  ASSERT_FALSE(too_long.ok());
  EXPECT_EQ(too_long.error().code, ErrorCode::kTooLong);
  for (const int n : {0, -5, std::numeric_limits<int>::max()}) {
    AnswerOptions options = answer_options();
    options.sampling.n = n;
    const auto refused = answer(*engine, kContext, kQuestions, options);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message(), "n is " + std::to_string(n) + ", expected 1 to 4096");
  }
  EXPECT_TRUE(answer(*engine, kContext, kQuestions, answer_options()).ok());
}

TEST(Answer, ATemplateHasThePlaceOfTheQuestion) {
  AnswerOptions options = answer_options();
  options.prompt_template = "{context}";
  const auto refused = answer(*open_tiny(), kContext, {std::string(700, 'x')}, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message(), check_template(options).error().message());
}

TEST(RenderPrompt, DoubledBracesStay) {
  AnswerOptions options;
  options.prompt_template = "{{context}} {{questions}} {question}";
  EXPECT_EQ(render_prompt(options, "C", "Q"), "{C} {{questions}} Q");
}

TEST(RenderPrompt, TheDefault) {
  AnswerOptions options;
  EXPECT_EQ(render_prompt(options, "C", "Q"), "C\n\nQuestion: Q\nAnswer:");
  options.instruction = "Be brief.";
  EXPECT_EQ(render_prompt(options, "C", "Q"), "Be brief.\n\nC\n\nQuestion: Q\nAnswer:");
}

// A header of one's own, as that of ChatML, ends with its own line end and gets no other.
TEST(RenderPrompt, AFieldIsItsTextAndNothingMore) {
  AnswerOptions options;
  options.instruction = "Be brief.";
  options.prompt_template = "<|im_start|>system\n{instruction}<|im_end|>\n{context}\n{question}";
  EXPECT_EQ(render_prompt(options, "C", "Q"), "<|im_start|>system\nBe brief.<|im_end|>\nC\nQ");
  options.instruction.clear();
  EXPECT_EQ(render_prompt(options, "C", "Q"), "<|im_start|>system\n<|im_end|>\nC\nQ");
}

TEST(RenderPrompt, WhatIsPutInIsNotReadAgain) {
  AnswerOptions options;
  options.instruction = "{context}";
  options.prompt_template = "{instruction}|{context}|{question}";
  EXPECT_EQ(render_prompt(options, "{question}{instruction}", "{context}"),
            "{context}|{question}{instruction}|{context}");
}

TEST(RenderPrompt, OtherBracesStay) {
  AnswerOptions options;
  options.prompt_template =
      "{{context}} {contexts} {Context} { question} {question {question}{question}} {";
  EXPECT_EQ(render_prompt(options, "C{", "Q}"),
            "{C{} {contexts} {Context} { question} {question Q}Q}} {");
}

TEST(RenderPrompt, NothingToReplace) {
  AnswerOptions options;
  options.prompt_template = "";
  EXPECT_EQ(render_prompt(options, "C", "Q"), "");
  options.prompt_template = "only text, größer";
  EXPECT_EQ(render_prompt(options, "C", "Q"), "only text, größer");
}

}  // namespace
}  // namespace pando::testing
