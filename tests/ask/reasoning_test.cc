// The reasoning of an answer, in each form that answers are written in.
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "ask/body.h"
#include "ask/parsed_line.h"
#include "engine/tiny_engine.h"

namespace pando::testing {
namespace {

using OrderedJson = nlohmann::ordered_json;

Completion reasoned(std::string reasoning = "Hm") {
  return {.text = "4",
          .reasoning = std::move(reasoning),
          .tokens = {1, 2, 3},
          .finish_reason = FinishReason::kStop,
          .prompt_tokens = 5};
}

std::unique_ptr<ask::Body> chat_body(nlohmann::json fields) {
  fields["messages"] = {{{"role", "user"}, {"content", "2+2?"}}};
  ask::Bounds bounds;
  const std::function<bool()> given_up = [] { return false; };
  auto body = ask::read_chat_body(fields, {.model = *tiny_model(),
                                           .context = 640,
                                           .max_answers = 8,
                                           .envelope = {},
                                           .bounds = bounds,
                                           .defaults = {},
                                           .given_up = given_up});
  EXPECT_TRUE(body.ok()) << body.error().message();
  return std::move(*body);
}

// The choice of the one event of a stream.
OrderedJson choice_of(const std::string& event) {
  const size_t begin = event.find('{');
  return OrderedJson::parse(event.substr(begin, event.rfind('}') + 1 - begin))["choices"][0];
}

TEST(ReasoningField, OfAChat) {
  const auto body = chat_body({});
  body->on_event(0, Event{.completion = reasoned()});
  EXPECT_EQ(body->answer()["choices"][0]["message"].dump(),
            R"({"role":"assistant","content":"4","reasoning_content":"Hm","refusal":null})");
}

TEST(ReasoningField, IsMissingWhereThereIsNone) {
  const auto body = chat_body({});
  body->on_event(0, Event{.completion = reasoned("")});
  EXPECT_EQ(body->answer()["choices"][0]["message"].dump(),
            R"({"role":"assistant","content":"4","refusal":null})");
}

TEST(ReasoningField, OfAStream) {
  const auto body = chat_body({{"stream", true}});
  EXPECT_EQ(choice_of(body->begin())["delta"].dump(), R"({"role":"assistant","content":""})");
  const auto delta = [&](Event event) {
    return choice_of(body->on_event(0, std::move(event)))["delta"].dump();
  };
  EXPECT_EQ(delta({.reasoning = "Hm", .n_tokens = 1}), R"({"reasoning_content":"Hm"})");
  EXPECT_EQ(delta({.text = "4", .n_tokens = 2}), R"({"content":"4"})");
  EXPECT_EQ(delta({.n_tokens = 3}), R"({"content":""})");
  EXPECT_EQ(delta({.n_tokens = 4, .completion = reasoned()}), "{}");
}

// Log-probabilities of reasoning need not wait for the content, which a text may end.
TEST(ReasoningField, LogprobsOfAStreamComeWithIt) {
  const auto body = chat_body({{"stream", true}, {"logprobs", true}, {"stop", {"."}}});
  const OrderedJson choice =
      choice_of(body->on_event(0, Event{.reasoning = "a",
                                        .n_tokens = 1,
                                        .logprob = TokenLogprob{.token = 'a', .logprob = -1}}));
  EXPECT_EQ(choice["logprobs"]["content"].size(), 1u);
}

TEST(ReasoningField, OfALineOfAnOpenAiBatch) {
  const auto line = parse_line(
      R"({"custom_id": "a", "url": "/v1/chat/completions",
          "body": {"messages": [{"role": "user", "content": "2+2?"}]}})",
      1);
  ASSERT_TRUE(line.ok()) << line.error().message();
  const std::vector<std::vector<Completion>> answers = {{reasoned()}};
  const BatchOptions options;
  const std::vector<Json> written =
      (*line)->written({.answers = answers}, {.model = *tiny_model(), .options = options});
  EXPECT_EQ(written.at(0)["response"]["body"]["choices"][0]["message"],
            OrderedJson::parse(R"({"role": "assistant", "content": "4",
                                   "reasoning_content": "Hm", "refusal": null})"));
}

TEST(ReasoningField, OfALine) {
  const auto line = parse_line(R"({"messages": [{"role": "user", "content": "2+2?"}]})", 1);
  ASSERT_TRUE(line.ok()) << line.error().message();
  const std::vector<std::vector<Completion>> answers = {{reasoned()}};
  const BatchOptions options;
  const std::vector<Json> written =
      (*line)->written({.question = &(*line)->questions[0], .answers = answers},
                       {.model = *tiny_model(), .options = options});
  EXPECT_EQ(json_text(written.at(0)),
            "{\"id\":\"1\",\"text\":\"4\",\"reasoning\":\"Hm\",\"finish_reason\":\"stop\","
            "\"prompt_tokens\":5,\"completion_tokens\":3}");
}

}  // namespace
}  // namespace pando::testing
