// pando.h gives what the C++ library gives, bit by bit, whatever the engine's queue takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "capi/completion_arrays.h"
#include "capi/handles.h"
#include "capi/question_stream.h"
#include "engine/tiny_engine.h"
#include "pando/answer.h"
#include "pando/score.h"

namespace pando::testing {
namespace {

const std::vector<std::string> kQuestions = {"One?", "Two?", "Three?", "Four?", "Five?"};

EngineOptions few_open() {
  EngineOptions options = tiny_options();
  options.max_open = 3;
  return options;
}

AnswerOptions sampled() {
  AnswerOptions options;
  options.sampling.max_tokens = 5;
  options.sampling.temperature = 1;
  options.sampling.ignore_eos = true;
  options.sampling.n = 2;
  options.logits_hash = true;
  return options;
}

TEST(CAgreement, AnswersAreThoseOfTheLibrary) {
  const auto expected = answer(*open_tiny(), "A context.", kQuestions, sampled());
  ASSERT_TRUE(expected.ok()) << expected.error().message();

  pando_engine engine{open_tiny(few_open())};
  std::vector<const char*> questions;
  for (const std::string& question : kQuestions) questions.push_back(question.c_str());
  pando_stream* stream = nullptr;
  ASSERT_EQ(pando_ask(&engine, "A context.", questions.data(), questions.size(),
                      R"({"max_tokens": 5, "temperature": 1, "ignore_eos": true, "n": 2,
                          "logits_hash": true})",
                      &stream),
            PANDO_OK)
      << pando_last_error();
  ASSERT_EQ(pando_wait(stream, -1), PANDO_OK) << pando_last_error();
  for (size_t i = 0; i < kQuestions.size(); ++i)
    for (size_t choice = 0; choice < 2; ++choice) {
      const pando_completion* found = pando_completion_of(stream, i, choice);
      ASSERT_NE(found, nullptr);
      EXPECT_EQ(found->logits_hash, (*expected)[i][choice].logits_hash);
      EXPECT_EQ(std::vector<Token>(found->tokens, found->tokens + found->n_tokens),
                (*expected)[i][choice].tokens);
    }
  pando_stream_free(stream);
}

// Choices behind a template: as pando_ask_line gives them and as answer() does.
void expect_choices_alike(const std::string& prompt_template,
                          const std::vector<std::string>& choices) {
  AnswerOptions options;
  options.prompt_template = prompt_template;
  options.choices = choices;
  const auto expected = answer(*open_tiny(), "A context.", kQuestions, options);
  ASSERT_TRUE(expected.ok()) << expected.error().message();

  pando_engine engine{open_tiny(few_open())};
  const std::string line = nlohmann::json{
      {"context", "A context."},
      {"questions", kQuestions},
      {"template", prompt_template},
      {"choices", choices}}.dump();
  pando_stream* stream = nullptr;
  ASSERT_EQ(pando_ask_line(&engine, line.data(), line.size(), &stream), PANDO_OK)
      << pando_last_error();
  std::map<size_t, std::string> texts;
  pando_event event;
  while (pando_next(stream, -1, &event) == PANDO_OK) texts[event.question] += event.text;
  for (size_t i = 0; i < kQuestions.size(); ++i) {
    EXPECT_EQ(texts[i], (*expected)[i][0].text);
    const pando_completion* found = pando_completion_of(stream, i, 0);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(
        std::vector<double>(found->choice_logprobs, found->choice_logprobs + found->n_choices),
        (*expected)[i][0].choice_logprobs);
  }
  pando_stream_free(stream);
}

TEST(CAgreement, OnlyTextsAreRead) {
  pando_engine engine{open_tiny(few_open())};
  const std::string line =
      R"({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": "u"}]}]})";
  pando_stream* stream = nullptr;
  EXPECT_EQ(pando_ask_line(&engine, line.data(), line.size(), &stream), PANDO_INVALID_ARGUMENT);
  EXPECT_STREQ(pando_last_error(),
               "message 0 has an image ('image_url'), but Pando reads only text");
}

TEST(CAgreement, ToolsAndFormsAreReadWhole) {
  pando_engine engine{open_tiny(few_open())};
  const std::string begin = R"({"messages": [{"role": "user", "content": "Q"}], )";
  for (const auto& [field, said] :
       {std::pair{R"("tools": [{"name": "f", "input_schema": {}}])",
                  "field 'tools[0].type' is absent, expected"},
        {R"("response_format": {"type": "json_object"})", "field 'response_format' is unknown"}}) {
    const std::string line = begin + field + "}";
    pando_stream* stream = nullptr;
    EXPECT_EQ(pando_ask_line(&engine, line.data(), line.size(), &stream), PANDO_INVALID_ARGUMENT);
    EXPECT_TRUE(std::string_view(pando_last_error()).starts_with(said)) << pando_last_error();
  }
}

TEST(CAgreement, CallsAreThoseOfTheLibrary) {
  Completion completion;
  completion.calls = {{"x1", "weather", R"({"city": "Paris"})"}, {"x2", "stop", "{}"}};
  const capi::CompletionArrays arrays(completion);
  const pando_completion& view = *arrays.view();
  ASSERT_EQ(view.n_calls, 2u);
  EXPECT_STREQ(view.calls[0].id, "x1");
  EXPECT_STREQ(view.calls[0].name, "weather");
  EXPECT_EQ(std::string(view.calls[0].arguments, view.calls[0].arguments_size),
            R"({"city": "Paris"})");
  EXPECT_STREQ(view.calls[1].name, "stop");
  EXPECT_EQ(capi::CompletionArrays(Completion()).view()->calls, nullptr);
}

TEST(CAgreement, FieldsOfCallsAreRead) {
  pando_engine engine{open_tiny(few_open())};
  const std::string begin = R"({"messages": [{"role": "user", "content": "Q"}], )";
  for (const auto& [line, said] :
       {std::pair{begin + R"("tool_choice": "required"})",
                  "field 'tool_choice' asks for a call, but 'tools' offers no function"},
        {begin + R"("thinking_budget": -1})", "field 'thinking_budget' is -1, expected 0 or more"},
        {R"({"prompt": "P", "thinking_budget": 1})",
         "field 'thinking_budget' needs 'messages', or 'questions' that are asked as a "
         "conversation"}}) {
    pando_stream* stream = nullptr;
    EXPECT_EQ(pando_ask_line(&engine, line.data(), line.size(), &stream), PANDO_INVALID_ARGUMENT);
    EXPECT_STREQ(pando_last_error(), said);
  }
}

TEST(CAgreement, ChoicesAreThoseOfTheLibrary) {
  expect_choices_alike(AnswerOptions::default_prompt_template(/*has_instruction=*/false),
                       {"yes", "no", "perhaps"});
}

TEST(CAgreement, ChoicesOfSingleTokensAreThoseOfTheLibrary) {
  expect_choices_alike("{context} {question} ", {"x", "y", "zz", "w"});
}

// Each continuation is a question, also of those that are one request.
TEST(CAgreement, ScoresAreThoseOfTheLibrary) {
  const std::vector<std::string> texts = {"x", "y", "zz", "w", "v", "u"};
  const auto expected = score(*open_tiny(), "A prefix:", texts);
  ASSERT_TRUE(expected.ok()) << expected.error().message();

  pando_engine engine{open_tiny(few_open())};
  std::vector<const char*> continuations;
  for (const std::string& text : texts) continuations.push_back(text.c_str());
  pando_stream* stream = nullptr;
  ASSERT_EQ(pando_score(&engine, "A prefix:", continuations.data(), texts.size(), &stream),
            PANDO_OK)
      << pando_last_error();
  std::vector<size_t> told;
  pando_event event;
  while (pando_next(stream, -1, &event) == PANDO_OK) told.push_back(event.question);
  std::ranges::sort(told);
  EXPECT_EQ(told, (std::vector<size_t>{0, 1, 2, 3, 4, 5}));
  for (size_t i = 0; i < texts.size(); ++i) {
    const pando_completion* found = pando_completion_of(stream, i, 0);
    ASSERT_NE(found, nullptr);
    ASSERT_EQ(found->n_prompt_scored, texts[i].size());
    double sum = 0;
    for (size_t k = 0; k < found->n_prompt_scored; ++k) sum += found->prompt_logprobs[k];
    EXPECT_EQ(sum, (*expected)[i].logprob);
  }
  EXPECT_EQ(pando_completion_of(stream, texts.size(), 0), nullptr);
  pando_stream_free(stream);
}

TEST(CAgreement, AnEmptyContinuationIsNamed) {
  pando_engine engine{open_tiny(few_open())};
  const char* const continuations[] = {"x", ""};
  pando_stream* stream = nullptr;
  EXPECT_EQ(pando_score(&engine, "A prefix:", continuations, 2, &stream), PANDO_INVALID_ARGUMENT);
  EXPECT_STREQ(pando_last_error(), "continuation 1 is empty, expected at least one character");
}

// An engine of 65 places, and a request that takes 64 of them for many times as long as a test.
constexpr int kLongContext = 16'384;
std::shared_ptr<Engine> open_long(const std::filesystem::path& folder) {
  EngineOptions options = tiny_options();
  options.kv_memory = size_t{512} << 20;
  options.max_open = 65;
  return open_tiny(options, make_tiny_model(folder, kLongContext));
}
Request longest_request(const std::string& prompt) {
  Request request = endless_request(prompt);
  request.sampling.max_tokens = kLongContext - 100;
  return request;
}

// Others hold all but one place of the queue: patient as long as something of one's own is under
// way.
TEST(QuestionStream, WaitsForItsOwnWhereOthersFillTheQueue) {
  const TemporaryFolder folder;
  const std::shared_ptr<Engine> engine = open_long(folder.path());
  ASSERT_TRUE(engine->submit(longest_request("others"), [](const Event&) {}).ok());
  std::vector<capi::Question> questions;
  for (int i = 0; i < 4; ++i) questions.push_back({{tiny_request("mine", 3)}, {}});
  capi::QuestionStream stream(engine, questions);
  Event event;
  size_t question = 0;
  size_t n_complete = 0;
  for (;;) {
    const auto what = stream.next(std::nullopt, event, question);
    ASSERT_TRUE(what.ok()) << what.error().message();
    if (*what == capi::What::kEnd) break;
    n_complete += event.completion.has_value();
  }
  EXPECT_EQ(n_complete, 4u);

  questions[0].requests[0].sampling.n = 2;
  capi::QuestionStream refused(engine, questions);
  const auto what = refused.next(std::nullopt, event, question);
  ASSERT_FALSE(what.ok());
  EXPECT_EQ(what.error().code, ErrorCode::kUnavailable);
}

// Others take the place that the first of two had, before the second comes: what is complete is
// told, and the second waits until there is room.
TEST(QuestionStream, WaitsForRoomBehindWhatIsComplete) {
  const TemporaryFolder folder;
  const std::shared_ptr<Engine> engine = open_long(folder.path());
  Engine::Hold held = engine->hold();  // the first is not complete while it is submitted
  ASSERT_TRUE(engine->submit(longest_request("others"), [](const Event&) {}).ok());
  capi::QuestionStream stream(engine,
                              {{{tiny_request("mine", 3)}, {}}, {{tiny_request("mine", 3)}, {}}});
  Event event;
  size_t question = 0;
  const auto what_comes = [&](std::optional<std::chrono::milliseconds> timeout) {
    for (;;) {
      const auto deadline =
          timeout ? std::optional(std::chrono::steady_clock::now() + *timeout) : std::nullopt;
      const auto what = stream.next(deadline, event, question);
      if (!what.ok()) throw std::runtime_error(what.error().message());
      if (*what != capi::What::kEvent || event.completion) return *what;
    }
  };
  EXPECT_EQ(what_comes(std::chrono::milliseconds(0)), capi::What::kTimeout);
  held.reset();
  Request more = longest_request("more");
  more.sampling.n = 1;
  Result<RequestId> taken = engine->submit(more, [](const Event&) {});
  for (; !taken.ok(); taken = engine->submit(more, [](const Event&) {})) std::this_thread::yield();
  EXPECT_EQ(what_comes({}), capi::What::kEvent);
  EXPECT_EQ(question, 0u);
  EXPECT_EQ(what_comes(std::chrono::milliseconds(120)), capi::What::kTimeout);
  engine->cancel(*taken);
  EXPECT_EQ(what_comes({}), capi::What::kEvent);
  EXPECT_EQ(question, 1u);
  EXPECT_EQ(what_comes({}), capi::What::kEnd);
}

// Its last request is refused when it is submitted, after the first is complete.
TEST(QuestionStream, TellsTheErrorOfTheLastRequestBehindWhatIsComplete) {
  EngineOptions options = tiny_options();
  options.max_open = 1;
  const std::shared_ptr<Engine> engine = open_tiny(options);
  capi::QuestionStream stream(
      engine, {{{tiny_request("first", 3)}, {}}, {{tiny_request(std::string(700, 'x'), 3)}, {}}});
  Event event;
  size_t question = 0, n_complete = 0;
  auto what = stream.next(std::nullopt, event, question);
  for (; what.ok() && *what == capi::What::kEvent;
       what = stream.next(std::nullopt, event, question))
    n_complete += event.completion.has_value();
  EXPECT_EQ(n_complete, 1u);
  ASSERT_FALSE(what.ok());
  EXPECT_EQ(what.error().code, ErrorCode::kTooLong);
  EXPECT_FALSE(stream.next(std::nullopt, event, question).ok());
}

}  // namespace
}  // namespace pando::testing
