// Stored responses, and requests that continue or refer to them.
#include <string>
#include <utility>

#include "ask/responses_testing.h"

namespace pando::ask {
namespace {

TEST_F(Responses, AreContinued) {
  answered(*body({{"input", "1+2?"}, {"instructions", "Add."}, {"tools", {kTool}}}, "a"),
           reasoned_call());
  const Json outputs = {{{"type", "function_call_output"}, {"call_id", "call_a"}, {"output", "3"}}};
  answered(*body({{"input", outputs}, {"previous_response_id", "resp_a"}}, "b"), said("3"));
  const Lines all = messages({{"input", "Sure?"}, {"previous_response_id", "resp_b"}}, "c");
  ASSERT_EQ(all.size(), 5u) << "without the instructions";
  EXPECT_EQ(all[0], "user: 1+2?");
  EXPECT_NE(all[1].find(R"("reasoning_content":"Hm")"), std::string::npos) << all[1];
  EXPECT_NE(all[1].find(R"("id":"call_b")"), std::string::npos) << all[1];
  EXPECT_EQ(all[2], R"({"role":"tool","tool_call_id":"call_a"} 3)");
  EXPECT_EQ(all[3], "assistant: 3");
  EXPECT_EQ(all[4], "user: Sure?");
  EXPECT_TRUE(body({{"input", "Sure?"}, {"previous_response_id", "resp_b"}})
                  ->requests[0]
                  .chat.tools.is_null());
  EXPECT_EQ(messages({{"previous_response_id", "resp_b"}}).size(), 4u) << "without more input";
}

TEST_F(Responses, ItemsAreReferredTo) {
  answered(*body({{"input", "1+2?"}}, "a"), said("3"));
  const Json reference = {{"type", "item_reference"}, {"id", "msg_a_in0"}};
  EXPECT_EQ(
      messages({{"input", {reference, {{"id", "msg_a"}}, {{"role", "user"}, {"content", "?"}}}}},
               "b"),
      Lines({"user: 1+2?", "assistant: 3", "user: ?"}));
}

TEST_F(Responses, NoTwoItemsHaveOneId) {
  const Json item = {{"role", "user"}, {"content", "x"}, {"id", "msg_x"}};
  answered(*body({{"input", {item, item, item}}}, "a"), said("3"));
  const Json kept = Json::parse(store_.responses[{0, "resp_a"}].input);
  EXPECT_EQ(kept[0]["id"], "msg_x");
  EXPECT_EQ(kept[1]["id"], "msg_a_in1");
  EXPECT_EQ(kept[2]["id"], "msg_a_in2");
}

// Responses that a short body continues are counted, so it is read where long texts are.
TEST_F(Responses, WhatIsContinuedCounts) {
  answered(*body({{"input", std::string(2000, 'x')}}, "a"), said("3"));
  const Json next = {{"input", "x"}, {"previous_response_id", "resp_a"}};
  Bounds small(1000);
  const auto refused = read_responses_body(next, {.model = *testing::tiny_model(),
                                                  .context = 640,
                                                  .max_answers = 8,
                                                  .envelope = {.id = "b"},
                                                  .bounds = small,
                                                  .defaults = {},
                                                  .given_up = given_up_,
                                                  .responses = &store_});
  EXPECT_FALSE(refused.ok());
  EXPECT_TRUE(small.has_too_many_bytes());
  EXPECT_TRUE(read(next).ok());
}

TEST_F(Responses, OthersAreNotFound) {
  answered(*body({{"input", "1+2?"}}, "a"), said("3"));
  for (const auto& [json, place] :
       {std::pair<Json, const char*>{{{"input", "x"}, {"previous_response_id", "resp_a"}},
                                     "previous_response_id"},
        {{{"input", {{{"type", "item_reference"}, {"id", "msg_a"}}}}}, "input[0].id"}}) {
    EXPECT_TRUE(read(json).ok());
    const Error wrong = error(json, 1);
    EXPECT_EQ(wrong.code, ErrorCode::kNotFound);
    EXPECT_EQ(wrong.place.field, place);
  }
}

TEST_F(Responses, AreStoredOnlyWhereThatIsWanted) {
  answered(*body({{"input", "x"}, {"store", false}}, "a"), said("3"));
  EXPECT_TRUE(store_.responses.empty());
  answered(*body({{"input", "x"}}, "b"), said("3"));
  EXPECT_EQ(store_.responses.size(), 1u);
  const auto made = body({{"input", "x"}}, "c");
  made->on_event(0, Event{.completion = said("3")});
  store_.failure = io_error("the disk is full");
  const Status status = made->finish();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message(), "the disk is full");
  store_.failure = make_error(ErrorCode::kTooLong, "it is too long");
  const Json answer = answered(*body({{"input", "x"}}, "d"), said("3"));
  EXPECT_EQ(answer["output"][0]["content"][0]["text"], "3") << "the answer is not lost";
  EXPECT_EQ(answer["store"], false);
  EXPECT_EQ(answer["warnings"], Json::array({"store: it is too long"}));
}

}  // namespace
}  // namespace pando::ask
