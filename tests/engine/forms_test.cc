// Answers with a form: every finished answer is allowed by the form, and forced tokens change
// nothing but the number of steps.
#include <gtest/gtest.h>

#include "api/open_loop.h"
#include "base/json.h"
#include "engine/open_laboratory.h"
#include "engine/test_loop.h"
#include "engine/tiny_engine.h"
#include "pando/values/sharing.h"

namespace pando::testing {
namespace {

constexpr const char* kSchema =
    R"({"type": "object", "properties": {
          "title": {"type": "string", "maxLength": 4},
          "count": {"type": "integer", "minimum": 0, "maximum": 99},
          "kind": {"enum": ["first of them", "second of them"]}},
        "required": ["title", "count", "kind"], "additionalProperties": false})";

Request asked(TextForm form, int n = 1) {
  Request request;
  request.prompt = "What is it?";
  request.sampling.max_tokens = 200;
  request.sampling.temperature = 1.5;
  request.sampling.seed = 7;
  request.sampling.n = n;
  request.sampling.form = std::move(form);
  request.logits_hash = true;
  return request;
}

TextForm schema(std::string text) {
  return {.kind = TextForm::Kind::kJsonSchema, .text = std::move(text)};
}

TEST(Forms, AnswersAreWhatTheSchemaAllows) {
  const std::unique_ptr<Engine> engine = open_tiny();
  std::set<std::string> texts;
  const std::vector<Completion> answers = engine->complete(asked(schema(kSchema), 8)).value();
  for (const Completion& answer : answers) {
    EXPECT_EQ(answer.finish_reason, FinishReason::kStop);
    const Json json = Json::parse(answer.text, nullptr, /*allow_exceptions=*/false);
    ASSERT_TRUE(json.is_object()) << answer.text;
    EXPECT_EQ(json.size(), 3u);
    EXPECT_TRUE(json["title"].is_string());
    EXPECT_TRUE(json["count"].is_number_integer() && json["count"] >= 0 && json["count"] <= 99);
    EXPECT_TRUE(json["kind"] == "first of them" || json["kind"] == "second of them");
    EXPECT_TRUE(answer.text.starts_with(R"({"title":)")) << "in the order of the schema";
    texts.insert(answer.text);
  }
  EXPECT_GT(texts.size(), 1u);
}

TEST(Forms, OtherKinds) {
  const std::unique_ptr<Engine> engine = open_tiny();
  const auto text = [&](TextForm form) {
    const std::vector<Completion> answers = engine->complete(asked(std::move(form))).value();
    return answers[0].text;
  };
  using Kind = TextForm::Kind;
  const std::string digits = text({.kind = Kind::kRegex, .text = "[0-9]{3}-[0-9]{2}"});
  EXPECT_EQ(digits.size(), 6u);
  EXPECT_EQ(digits[3], '-');
  const std::string choice = text({.kind = Kind::kChoices, .choices = {"yes", "no", "not known"}});
  EXPECT_TRUE(choice == "yes" || choice == "no" || choice == "not known") << choice;
  EXPECT_EQ(text({.kind = Kind::kGbnf, .text = "root ::= \"a\" \"b\"\n"}), "ab");
}

// Answers that begin alike may read one cached row, though the forms of some force more tokens.
TEST(Forms, OfOnePromptMayDiffer) {
  const auto closed = [](const std::string& properties) {
    return schema(R"({"type": "object", "properties": {)" + properties +
                  R"(}, "additionalProperties": false})");
  };
  const TextForm forms[] = {
      closed(R"("_id": {"type": "string"}, "alpha": {"type": "string"})"),
      schema(R"({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
                 "additionalProperties": false})"),
      closed(R"("created_by": {"type": "string"})")};
  for (uint64_t seed = 0; seed < 60; ++seed) {
    LoopOptions options = tiny_loop_options();
    const auto loop = open_loop(tiny_model()->parts(), options).value();
    int n_answers = 0;
    for (int i = 0; i < 3; ++i) {
      Request request = asked(forms[i]);
      request.tokens = tiny_model()->encode(request.prompt).value();
      request.sampling.temperature = 1.0;
      request.sampling.max_tokens = 40;
      request.sampling.seed = seed;
      const auto listen = [&](const Event& event) {
        EXPECT_FALSE(event.error) << event.error->message();
        n_answers += event.completion ? 1 : 0;
      };
      ASSERT_TRUE(loop->submit(i + 1, request, listen).ok());
    }
    for (int i = 0; i < 1000 && loop->step(); ++i) loop->deliver_events();
    loop->deliver_events();
    EXPECT_EQ(n_answers, 3) << seed;
  }
}

// Every token of the answer but a few is forced.
TEST(Forms, ForcedTokensChangeOnlyTheNumberOfSteps) {
  struct Run {
    std::vector<Completion> answers;
    uint64_t steps, rows;
  };
  const auto run = [](bool forces, const std::string& sharing) {
    LoopOptions options = tiny_loop_options();
    options.engine.sharing = sharing;
    options.forces_tokens = forces;
    const auto loop = open_loop(tiny_model()->parts(), options).value();
    Run run;
    Request request = asked(schema(kSchema), 3);
    request.tokens = tiny_model()->encode(request.prompt).value();
    request.sampling.logprobs = true;
    run.answers.resize(3);
    const auto listen = [&](const Event& event) {
      EXPECT_FALSE(event.error) << event.error->message();
      if (event.completion) run.answers[event.choice] = *event.completion;
    };
    EXPECT_TRUE(loop->submit(1, request, listen).ok());
    for (int i = 0; i < 1000 && loop->step(); ++i) loop->deliver_events();
    loop->deliver_events();
    run.steps = loop->stats().steps;
    run.rows = loop->stats().prefill_rows + loop->stats().decode_rows;
    return run;
  };
  for (const char* sharing : {"tree", "packed"}) {
    const Run alone = run(false, sharing), together = run(true, sharing);
    EXPECT_LT(together.steps, alone.steps / 2);
    EXPECT_EQ(together.rows, alone.rows);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(together.answers[i].text, alone.answers[i].text);
      EXPECT_EQ(together.answers[i].tokens, alone.answers[i].tokens);
      EXPECT_EQ(together.answers[i].logits_hash, alone.answers[i].logits_hash);
      ASSERT_EQ(together.answers[i].logprobs.size(), alone.answers[i].logprobs.size());
      for (size_t k = 0; k < alone.answers[i].logprobs.size(); ++k)
        EXPECT_EQ(together.answers[i].logprobs[k].logprob, alone.answers[i].logprobs[k].logprob);
    }
  }
}

// The rows behind the stop are computed in the same step, and have no part in the answer.
TEST(Forms, AStopTextAmongForcedTokens) {
  std::vector<Answer> answers;
  for (const bool forces : {false, true}) {
    LoopOptions options = tiny_loop_options();
    options.forces_tokens = forces;
    TestLoop loop(options);
    Request request = asked({.kind = TextForm::Kind::kChoices, .choices = {"one long text"}});
    request.sampling.stop = {"long"};
    ASSERT_TRUE(loop.submit(1, request).ok());
    loop.run();
    EXPECT_EQ(loop.heard[1].completions.at(0).text, "one ");
    answers.push_back(loop.answers(1).at(0));
  }
  EXPECT_EQ(answers[0], answers[1]);
}

TEST(Forms, PublishedTechniquesKeepThem) {
  open_laboratory();
  for (const char* sharing : {"stacked", "padded", "hydragen"}) {
    if (!sharing_info(sharing)) continue;  // built without the laboratory
    EngineOptions options = tiny_options();
    options.sharing = sharing;
    const Result<std::vector<Completion>> answers =
        open_tiny(options)->complete(asked(schema(kSchema)));
    ASSERT_TRUE(answers.ok()) << sharing << ": " << answers.error().message();
    EXPECT_EQ((*answers)[0].finish_reason, FinishReason::kStop) << sharing;
    EXPECT_EQ(Json::parse((*answers)[0].text, nullptr, false).size(), 3u) << sharing;
  }
}

TEST(Forms, MaxTokensCut) {
  Request request = asked(schema(kSchema));
  request.sampling.max_tokens = 12;
  const std::vector<Completion> answers = open_tiny()->complete(request).value();
  const Completion& cut = answers[0];
  EXPECT_EQ(cut.finish_reason, FinishReason::kLength);
  EXPECT_EQ(cut.tokens.size(), 12u);
  EXPECT_TRUE(cut.text.starts_with(R"({"title":")"));
}

TEST(Forms, WhatCannotBeKeptIsRefusedBeforeAnythingRuns) {
  const std::unique_ptr<Engine> engine = open_tiny();
  const Result<std::vector<Completion>> malformed = engine->complete(asked(schema("{")));
  ASSERT_FALSE(malformed.ok());
  EXPECT_EQ(malformed.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(engine->stats().steps, 0u);
  EXPECT_FALSE(tiny_model()->check_form(schema("[1]")).ok());
  EXPECT_TRUE(tiny_model()->check_form(schema(kSchema)).ok());
}

}  // namespace
}  // namespace pando::testing
