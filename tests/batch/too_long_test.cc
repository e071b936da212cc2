// Prompts that do not fit: cut in the middle, or split.
#include "batch/too_long.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "ask/parsed_line.h"
#include "engine/tiny_engine.h"

namespace pando::testing {
namespace {

constexpr int kContext = 100;  // tokens, which are bytes here

std::unique_ptr<ask::Line> fitted(const std::string& text, TooLong policy, int max_tokens = 10) {
  AnswerOptions options;
  options.sampling.max_tokens = max_tokens;
  options.prompt_template = "{context}|{question}";
  Result<std::unique_ptr<ask::Line>> line = parse_line(text, 1, options);
  EXPECT_TRUE(line.ok()) << text;
  fit(*tiny_model(), kContext, policy, **line);
  for (const ask::Question& question : (*line)->questions) {
    const Request request = (*line)->request_of(question);
    const size_t n_tokens = request.prompt.size() + request.tokens.size();
    EXPECT_TRUE((*line)->cut.empty() || n_tokens <= size_t(kContext - max_tokens)) << n_tokens;
  }
  return std::move(*line);
}

std::string words(int n) {
  std::string text;
  for (int i = 0; i < n; ++i) text += fmt::format("{}{}", i > 0 ? " " : "", 100 + i);
  return text;
}

std::string plain(const std::string& prompt) { return nlohmann::json({{"prompt", prompt}}).dump(); }

std::string with_context(const std::string& context) {
  return nlohmann::json({{"context", context}, {"questions", {"Short?", "A longer one?"}}}).dump();
}

TEST(TooLong, WhatFitsStays) {
  const std::string text = with_context(words(19));  // 75 bytes, and 14 of the longer question
  EXPECT_EQ(fitted(with_context(words(16)), TooLong::kTruncateMiddle)->cut, "");
  EXPECT_NE(fitted(text, TooLong::kTruncateMiddle)->cut, "");
  for (const TooLong policy : {TooLong::kError, TooLong::kSkip})
    EXPECT_EQ(fitted(text, policy)->cut, "");
}

TEST(TooLong, TheMiddleOfAContextIsLeftOut) {
  const std::unique_ptr<ask::Line> line =
      fitted(with_context(words(100)), TooLong::kTruncateMiddle);
  ASSERT_EQ(line->contexts.size(), 1u);
  const std::string& context = line->contexts[0];
  EXPECT_TRUE(context.starts_with("100 101 102 ")) << context;
  EXPECT_TRUE(context.ends_with(" 197 198 199")) << context;
  EXPECT_GT(context.size(), 50u);
  EXPECT_EQ(line->cut,
            fmt::format("the context of 399 tokens was cut to {}; its middle was removed",
                        context.size()));
}

TEST(TooLong, AWordThatIsLongerThanTheRoom) {
  const std::string url = fmt::format("https://{}", std::string(300, 'x'));
  for (const TooLong policy : {TooLong::kTruncateMiddle, TooLong::kSplit}) {
    EXPECT_NE(fitted(with_context(fmt::format("{} {}", words(20), url)), policy)->cut, "");
    EXPECT_NE(fitted(with_context(url), policy)->cut, "");
  }
}

TEST(TooLong, CharactersStayWhole) {
  std::string umlauts;
  for (int i = 0; i < 200; ++i) umlauts += "ä";
  for (const TooLong policy : {TooLong::kTruncateMiddle, TooLong::kSplit}) {
    const std::unique_ptr<ask::Line> line = fitted(with_context(umlauts), policy);
    for (const std::string& context : line->contexts)
      EXPECT_TRUE(tiny_model()->encode(context).ok()) << context;
  }
}

TEST(TooLong, AContextIsSplitAndNothingIsLost) {
  const std::string whole = words(100);
  const std::unique_ptr<ask::Line> line = fitted(with_context(whole), TooLong::kSplit);
  ASSERT_GT(line->contexts.size(), 5u);
  std::string joined;
  for (const std::string& part : line->contexts) joined += part;
  EXPECT_EQ(joined, whole);
  ASSERT_EQ(line->questions.size(), 2 * line->contexts.size());
  EXPECT_EQ(line->questions[3].part, 1u);
  EXPECT_EQ(line->questions[3].index, 3u);
  EXPECT_EQ(line->questions[3].text, "A longer one?");
  EXPECT_EQ(line->questions[3].request.id, "1/1/1");
}

TEST(TooLong, PartsEndWithParagraphs) {
  const std::string paragraph = words(15) + ".\n\n";
  const std::unique_ptr<ask::Line> line =
      fitted(with_context(paragraph + paragraph + paragraph), TooLong::kSplit);
  ASSERT_EQ(line->contexts.size(), 3u);
  for (const std::string& part : line->contexts) EXPECT_EQ(part, paragraph);
}

TEST(TooLong, PromptsTokensAndMessagesAreCut) {
  const std::unique_ptr<ask::Line> prompt = fitted(plain(words(50)), TooLong::kTruncateMiddle);
  EXPECT_TRUE(prompt->questions[0].request.prompt.ends_with(" 149"));
  std::vector<int> tokens(150);
  for (int i = 0; i < 150; ++i) tokens[i] = i;
  const std::unique_ptr<ask::Line> ids =
      fitted(nlohmann::json({{"tokens", tokens}}).dump(), TooLong::kTruncateMiddle);
  EXPECT_EQ(ids->questions[0].request.tokens.size(), 90u);
  EXPECT_EQ(ids->questions[0].request.tokens.back(), 149);
  const std::unique_ptr<ask::Line> chat =
      fitted(nlohmann::json({{"messages",
                              {{{"role", "system"}, {"content", "Be brief."}},
                               {{"role", "user"}, {"content", words(50)}}}}})
                 .dump(),
             TooLong::kTruncateMiddle);
  EXPECT_EQ(chat->questions[0].request.messages[0].content, "Be brief.");
  EXPECT_LT(chat->questions[0].request.messages[1].content.size(), 80u);
  EXPECT_NE(chat->cut, "");
  EXPECT_EQ(fitted(plain(words(50)), TooLong::kSplit)->cut, "");
}

TEST(TooLong, ALongAnswerLeavesHalfForThePrompt) {
  const std::unique_ptr<ask::Line> line =
      fitted(with_context(words(100)), TooLong::kTruncateMiddle, 50);
  EXPECT_EQ(line->request_of(line->questions[0]).sampling.max_tokens, 50);
  EXPECT_NE(line->cut, "");
}

TEST(TooLongBatch, EveryPartIsAnswered) {
  std::istringstream in(with_context(words(300)) + "\n");
  std::ostringstream out;
  BatchOptions options;
  options.too_long = TooLong::kSplit;
  options.defaults.sampling.max_tokens = 4;
  options.ordered = true;
  std::vector<std::string> problems;
  options.on_problem = [&](const std::string& message) { problems.push_back(message); };
  const auto summary = run_batch(*open_tiny(), in, 0, out, options);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->cut, 1u);
  EXPECT_EQ(problems,
            std::vector<std::string>{"line 1: the context of 1199 tokens was split into 3 parts"});
  EXPECT_EQ(summary->answers, 6u);
  const auto first = nlohmann::json::parse(out.str().substr(0, out.str().find('\n')));
  EXPECT_EQ(first["part"], 0);
  EXPECT_EQ(first["parts"], 3);
  EXPECT_EQ(first["question_id"], "0");
}

}  // namespace
}  // namespace pando::testing
