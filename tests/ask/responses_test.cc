// Bodies of /v1/responses: what they ask, their answers and their streams.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ask/body.h"
#include "ask/responses_body.h"
#include "base/errors.h"
#include "engine/tiny_engine.h"

namespace pando::ask {
namespace {

using testing::tiny_model;

class MapStore : public ResponseStore {
 public:
  Result<StoredResponse> find(uint64_t key, const std::string& id) override {
    const auto found = responses.find({key, id});
    if (found == responses.end()) return not_found("there is no response '{}'", id);
    return found->second;
  }
  Status add(uint64_t key, const StoredResponse& response) override {
    if (failure) return *failure;
    responses[{key, response.id}] = response;
    return {};
  }

  std::map<std::pair<uint64_t, std::string>, StoredResponse> responses;
  std::optional<Error> failure;  // of every addition
};

class Responses : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Body>> read(const Json& json, const std::string& id = "1",
                                     uint64_t key = 0) {
    Bounds bounds;
    return read_responses_body(json, {.model = *tiny_model(),
                                      .context = 640,
                                      .max_answers = 8,
                                      .envelope = {.id = id, .created = 7, .model = "tiny"},
                                      .bounds = bounds,
                                      .defaults = {},
                                      .given_up = given_up_,
                                      .responses = &store_,
                                      .isolation_key = key});
  }

  std::unique_ptr<Body> body(const Json& json, const std::string& id = "1") {
    auto made = read(json, id);
    EXPECT_TRUE(made.ok()) << made.error().message();
    return std::move(*made);
  }

  // "role: content" of each message; its other fields, if there are any, and its content.
  std::vector<std::string> messages(const Json& json, const std::string& id = "1") {
    std::vector<std::string> all;
    const auto made = body(json, id);
    for (const ChatMessage& message : made->requests[0].messages)
      all.push_back(message.fields.is_null() ? message.role + ": " + message.content
                                             : message.fields.text() + " " + message.content);
    return all;
  }

  Error error(const Json& json, uint64_t key = 0) {
    const auto made = read(json, "1", key);
    EXPECT_FALSE(made.ok()) << json;
    return made.ok() ? Error() : made.error();
  }

  // The answer, which is stored where the body wants that.
  static Json answered(Body& body, Completion completion) {
    body.on_event(0, Event{.completion = std::move(completion)});
    const Status status = body.finish();
    EXPECT_TRUE(status.ok()) << status.error().message();
    return body.answer();
  }

  static std::vector<Json> events_of(std::string_view text) {
    std::vector<Json> events;
    while (!text.empty()) {
      const size_t end = text.find("\n\n"), data = text.find("\ndata: ");
      Json event = Json::parse(text.substr(data + 7, end - data - 7));
      EXPECT_EQ(text.substr(0, data), "event: " + event["type"].get<std::string>());
      EXPECT_EQ(event["sequence_number"], events.size());
      events.push_back(std::move(event));
      text.remove_prefix(end + 2);
    }
    return events;
  }

  static std::vector<Json> streamed(Body& body, std::vector<Event> events) {
    std::string text = body.begin();
    for (Event& event : events) text += body.on_event(0, std::move(event));
    EXPECT_TRUE(body.finish().ok());
    return events_of(text + body.end());
  }

  static std::vector<std::string> names_of(const std::vector<Json>& events) {
    std::vector<std::string> names;
    for (const Json& event : events)
      names.push_back(event["type"].get<std::string>().substr(std::string("response.").size()));
    return names;
  }

  MapStore store_;
  const std::function<bool()> given_up_ = [] { return false; };
};

Completion said(std::string text) {
  return {.text = std::move(text),
          .tokens = {1, 2, 3},
          .finish_reason = FinishReason::kStop,
          .prompt_tokens = 5,
          .shared_tokens = 2};
}

Completion reasoned_call() {
  Completion completion = said("Wait.");
  completion.reasoning = "Hm";
  completion.calls = {{"call_a", "add", R"({"x":1})"}, {"call_b", "add", R"({"x":2})"}};
  return completion;
}

const Json kTool = {{"type", "function"}, {"name", "add"}, {"parameters", {{"type", "object"}}}};

using Lines = std::vector<std::string>;

TEST_F(Responses, TextsAndMessages) {
  EXPECT_EQ(messages({{"input", "Hi"}}), Lines({"user: Hi"}));
  EXPECT_EQ(messages({{"input", "Hi"}, {"instructions", "Be brief."}}),
            Lines({"system: Be brief.", "user: Hi"}));
  const Json part = {{"type", "input_text"}, {"text", "b"}};
  const Json said_before = {{"type", "output_text"}, {"text", "c"}, {"annotations", Json::array()}};
  EXPECT_EQ(messages({{"input",
                       {{{"role", "developer"}, {"content", "a"}},
                        {{"type", "message"}, {"role", "user"}, {"content", {part, part}}},
                        {{"type", "message"},
                         {"id", "msg_0"},
                         {"status", "completed"},
                         {"role", "assistant"},
                         {"content", {said_before}}}}}}),
            Lines({"developer: a", "user: bb", "assistant: c"}));
}

TEST_F(Responses, ItemsOfTheAssistantAreOneMessage) {
  const auto call = [](const char* id) -> Json {
    return {{"type", "function_call"}, {"call_id", id},   {"name", "add"},
            {"arguments", "{}"},       {"namespace", ""}, {"caller", {{"type", "direct"}}}};
  };
  const auto output = [](const char* id) -> Json {
    return {{"type", "function_call_output"}, {"call_id", id}, {"output", "3"}};
  };
  const Json thought = {{"type", "reasoning"},
                        {"summary", Json::array()},
                        {"content", {{{"type", "reasoning_text"}, {"text", "Hm"}}}}};
  EXPECT_EQ(
      messages({{"input",
                 {{{"role", "user"}, {"content", "1+2?"}},
                  thought,
                  {{"role", "assistant"}, {"content", "Wait."}},
                  call("a"),
                  call("b"),
                  output("a"),
                  output("b"),
                  {{"role", "assistant"}, {"content", "3"}},
                  {{"role", "assistant"}, {"content", "Sure."}}}}}),
      Lines({"user: 1+2?",
             R"({"role":"assistant","reasoning_content":"Hm","tool_calls":[)"
             R"({"id":"a","type":"function","function":{"name":"add","arguments":"{}"}},)"
             R"({"id":"b","type":"function","function":{"name":"add","arguments":"{}"}}]} Wait.)",
             R"({"role":"tool","tool_call_id":"a"} 3)", R"({"role":"tool","tool_call_id":"b"} 3)",
             "assistant: 3", "assistant: Sure."}));
}

TEST_F(Responses, OptionsOfChats) {
  const Json schema = {{"type", "object"}};
  const auto made =
      body({{"input", "Hi"},
            {"max_output_tokens", 9},
            {"temperature", 0.5},
            {"top_p", 0.25},
            {"top_k", 3},
            {"text",
             {{"format", {{"type", "json_schema"}, {"name", "n"}, {"schema", schema}}},
              {"verbosity", "medium"}}},
            {"reasoning",
             {{"effort", "low"}, {"summary", "auto"}, {"context", "auto"}, {"mode", "standard"}}},
            {"thinking_budget", 5},
            {"context_management", nullptr},
            {"moderation", nullptr},
            {"tools", {kTool}},
            {"tool_choice", "auto"},
            {"parallel_tool_calls", false},
            {"include", {"message.output_text.logprobs", "reasoning.encrypted_content"}},
            {"top_logprobs", 2},
            {"truncation", "auto"},
            {"stream", true},
            {"store", false},
            {"metadata", {{"a", "b"}}},
            {"user", "u"}});
  const Request& request = made->requests[0];
  EXPECT_EQ(request.sampling.max_tokens, 9);
  EXPECT_EQ(request.sampling.temperature, 0.5);
  EXPECT_EQ(request.sampling.top_p, 0.25);
  EXPECT_EQ(request.sampling.top_k, 3);
  EXPECT_TRUE(request.sampling.form.has_value());
  EXPECT_EQ(request.chat.template_kwargs.text(), R"({"reasoning_effort":"low"})");
  EXPECT_EQ(request.chat.tools.text(),
            R"([{"type":"function","function":{"name":"add","parameters":{"type":"object"}}}])");
  EXPECT_FALSE(request.calling.parallel);
  EXPECT_EQ(request.thinking_budget, 5);
  EXPECT_TRUE(request.sampling.logprobs);
  EXPECT_EQ(request.sampling.top_logprobs, 2);
  EXPECT_GT(request.truncate_prompt_tokens, 0);
  EXPECT_TRUE(made->stream);
  EXPECT_FALSE(made->is_stored);
  EXPECT_STREQ(made->length_field, "max_output_tokens");
}

// Whoever reads them sees the places of the body that was sent.
TEST_F(Responses, ErrorsNameTheFieldsOfTheBody) {
  const auto with = [](const char* name, const Json& value) {
    Json body = {{"input", "Hi"}};
    body[name] = value;
    return body;
  };
  const auto item = [&](const Json& value) {
    return with("input", Json::array({{{"role", "user"}, {"content", "Hi"}}, value}));
  };
  const Json bad_format = {{"format", {{"type", "xml"}}}};
  const Json nameless = {{"type", "function"}};
  const Json search = {{"type", "web_search"}};
  const Json image = {{{"type", "input_image"}, {"image_url", "x"}}};
  const Json misspelt = {{{"type", "output_txt"}, {"text", "x"}}};
  const std::tuple<Json, const char*> kCases[] = {
      {Json::object(), "input"},
      {with("input", Json::array()), "input"},
      {with("input", 5), "input"},
      {with("inptu", 5), "inptu"},
      {with("messages", Json::array()), "messages"},
      {with("n", 2), "n"},
      {with("background", true), "background"},
      {with("conversation", "c"), "conversation"},
      {with("moderation", {{"model", "m"}}), "moderation"},
      {with("max_output_tokens", 0), "max_output_tokens"},
      {with("max_output_tokens", "x"), "max_output_tokens"},
      {with("text", bad_format), "text.format"},
      {with("text", {{"verbose", 1}}), "text.verbose"},
      {with("text", {{"verbosity", "x"}}), "text.verbosity"},
      {with("reasoning", {{"effort", "x"}}), "reasoning.effort"},
      {with("tools", Json::array({nameless})), "tools[0].name"},
      {with("tools", Json::array({kTool, search})), "tools[1].type"},
      {with("tools", 1), "tools"},
      {with("tool_choice", 1), "tool_choice"},
      {with("include", {"x"}), "include[0]"},
      {with("top_logprobs", 1000), "top_logprobs"},
      {with("truncation", "x"), "truncation"},
      {with("temperature", "x"), "temperature"},
      {item(5), "input[1]"},
      {item({{"type", "x"}}), "input[1].type"},
      {item({{"role", "x"}, {"content", ""}}), "input[1].role"},
      {item({{"role", "user"}}), "input[1].content"},
      {item({{"role", "user"}, {"content", ""}, {"nmae", 1}}), "input[1].nmae"},
      {item({{"role", "user"}, {"content", image}}), "input[1].content[0].type"},
      {item({{"role", "user"}, {"content", misspelt}}), "input[1].content[0].type"},
      {item({{"type", "function_call"}, {"name", "f"}}), "input[1].call_id"},
      {item({{"type", "function_call"}, {"call_id", "a"}, {"name", ""}, {"arguments", "{}"}}),
       "input[1].name"},
      {item({{"type", "function_call_output"}, {"output", "x"}}), "input[1].call_id"},
      {item({{"type", "item_reference"}, {"id", "msg_9"}}), "input[1].id"}};
  for (const auto& [json, place] : kCases) {
    const Error wrong = error(json);
    EXPECT_EQ(wrong.place.field, place) << wrong.message();
    EXPECT_EQ(wrong.message().find("messages["), std::string::npos) << wrong.message();
  }
  EXPECT_EQ(error(with("inptu", 5)).message(),
            "field 'inptu' is unknown or unsupported (hint: 'input'?)");
  EXPECT_EQ(error(with("max_output_tokens", 0)).message(),
            "field 'max_output_tokens' is 0, expected at least 1");
}

TEST_F(Responses, AnAnswer) {
  const auto made = body({{"input", "Hi"}, {"temperature", 0}, {"metadata", {{"a", "b"}}}});
  EXPECT_EQ(
      answered(*made, said("4")).dump(),
      R"({"id":"resp_1","object":"response","created_at":7,"status":"completed","error":null,)"
      R"("incomplete_details":null,"model":"tiny","output":[{"type":"message","id":"msg_1",)"
      R"("status":"completed","role":"assistant","content":[{"type":"output_text","text":"4",)"
      R"("annotations":[],"logprobs":[]}]}],"instructions":null,"max_output_tokens":null,)"
      R"("max_tool_calls":null,"previous_response_id":null,"prompt_cache_key":null,)"
      R"("safety_identifier":null,"user":null,"background":false,"metadata":{"a":"b"},)"
      R"("parallel_tool_calls":true,"reasoning":{"effort":null,"summary":null},)"
      R"("service_tier":"default","text":{"format":{"type":"text"},"verbosity":"medium"},)"
      R"("tool_choice":"auto","tools":[],"top_logprobs":0,"truncation":"disabled","store":true,)"
      R"("temperature":0.0,"top_p":1.0,"usage":{"input_tokens":5,"input_tokens_details":)"
      R"({"cached_tokens":2,"cache_write_tokens":3},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":0},)"
      R"("total_tokens":8}})");
}

TEST_F(Responses, ReasoningAndCallsAreItems) {
  const auto made = body({{"input", "Hi"}, {"tools", {kTool}}});
  const Json answer = answered(*made, reasoned_call());
  EXPECT_EQ(answer["tools"][0], Json({{"type", "function"},
                                      {"name", "add"},
                                      {"parameters", {{"type", "object"}}},
                                      {"strict", nullptr}}));
  const Json& output = answer["output"];
  ASSERT_EQ(output.size(), 4u);
  EXPECT_EQ(output[0].dump(),
            R"({"type":"reasoning","id":"rs_1","status":"completed","summary":[],)"
            R"("content":[{"type":"reasoning_text","text":"Hm"}]})");
  EXPECT_EQ(output[1]["content"][0]["text"], "Wait.");
  EXPECT_EQ(output[2].dump(), R"({"type":"function_call","id":"fc_1_0","call_id":"call_a",)"
                              R"("name":"add","arguments":"{\"x\":1}","status":"completed"})");
  EXPECT_EQ(output[3]["id"], "fc_1_1");
  EXPECT_EQ(answer["usage"]["output_tokens_details"]["reasoning_tokens"], 2);
}

TEST_F(Responses, AnAnswerThatIsCutIsIncomplete) {
  Completion cut;
  cut.tokens = {1};
  cut.reasoning = "Hm";
  const Json answer = answered(*body({{"input", "Hi"}}), cut);
  EXPECT_EQ(answer["status"], "incomplete");
  EXPECT_EQ(answer["incomplete_details"], Json({{"reason", "max_output_tokens"}}));
  ASSERT_EQ(answer["output"].size(), 1u) << "the reasoning alone";
  EXPECT_EQ(answer["output"][0]["status"], "incomplete");
}

TEST_F(Responses, AStreamSaysWhatAWholeAnswerSays) {
  const Json asked = {{"input", "Hi"}, {"tools", {kTool}}, {"stream", true}, {"store", false}};
  const std::vector<Json> events =
      streamed(*body(asked),
               {{.reasoning = "H"},
                {.reasoning = "m"},
                {.text = "Wa"},
                {.text = "it.", .calls = reasoned_call().calls, .completion = reasoned_call()}});
  EXPECT_EQ(names_of(events), Lines({"created",
                                     "in_progress",
                                     "output_item.added",
                                     "content_part.added",
                                     "reasoning_text.delta",
                                     "reasoning_text.delta",
                                     "output_item.added",
                                     "content_part.added",
                                     "output_text.delta",
                                     "output_text.delta",
                                     "reasoning_text.done",
                                     "content_part.done",
                                     "output_item.done",
                                     "output_text.done",
                                     "content_part.done",
                                     "output_item.done",
                                     "output_item.added",
                                     "function_call_arguments.delta",
                                     "function_call_arguments.done",
                                     "output_item.done",
                                     "output_item.added",
                                     "function_call_arguments.delta",
                                     "function_call_arguments.done",
                                     "output_item.done",
                                     "completed"}));
  const Json& last = events.back()["response"];
  EXPECT_EQ(last, answered(*body(asked), reasoned_call()));
  Json told = Json::array();
  std::string text;
  for (const Json& event : events) {
    if (event["type"] == "response.output_item.done") told.push_back(event["item"]);
    if (event["type"] == "response.output_item.done") {
      EXPECT_EQ(event["output_index"], told.size() - 1);
    }
    if (event["type"] == "response.output_text.delta") text += event["delta"];
  }
  EXPECT_EQ(told, last["output"]);
  EXPECT_EQ(text, "Wait.");
  EXPECT_EQ(events[0]["response"]["status"], "in_progress");
  EXPECT_TRUE(events[0]["response"]["usage"].is_null());
}

// Its items end with it, and are in the order in which they began.
TEST_F(Responses, AStreamMayReasonBehindAText) {
  Completion completion = said("Wait. 4");
  completion.reasoning = "Hm";
  for (const bool text_first : {false, true}) {
    std::vector<Event> parts = {{.reasoning = "H"}, {.text = "Wait. "}, {.reasoning = "m"}};
    if (text_first) std::swap(parts[0], parts[1]);
    parts.push_back({.text = "4", .completion = completion});
    const std::vector<Json> events =
        streamed(*body({{"input", "Hi"}, {"stream", true}}), std::move(parts));
    Json told = Json::array();
    for (const Json& event : events) {
      const std::string type = event["type"];
      if (type.ends_with(".delta")) {
        EXPECT_TRUE(told.empty()) << "the items are not over";
      }
      if (type == "response.output_item.done") {
        EXPECT_EQ(event["output_index"], told.size());
        told.push_back(event["item"]);
      }
    }
    ASSERT_EQ(told.size(), 2u);
    EXPECT_EQ(told[0]["type"], text_first ? "message" : "reasoning");
    EXPECT_EQ(told, events.back()["response"]["output"]);
  }
}

TEST_F(Responses, AnEmptyStreamHasAMessage) {
  const auto made = body({{"input", "Hi"}, {"stream", true}});
  const std::vector<Json> events = streamed(*made, {{.completion = said("")}});
  EXPECT_EQ(names_of(events),
            Lines({"created", "in_progress", "output_item.added", "content_part.added",
                   "output_text.done", "content_part.done", "output_item.done", "completed"}));
  EXPECT_EQ(events.back()["response"]["output"][0], events[6]["item"]);
}

TEST_F(Responses, AStreamThatFailsSaysSo) {
  const auto made = body({{"input", "Hi"}, {"stream", true}});
  HttpError error = {500, "server_error", "internal", "a bug"};
  std::string text = made->begin();
  text += made->fail(error);
  error.n_events = 3;
  text += kResponsesErrors.last_events(error);
  const std::vector<Json> events = events_of(text);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[2]["response"]["status"], "failed");
  EXPECT_EQ(events[2]["response"]["error"], Json({{"code", "server_error"}, {"message", "a bug"}}));
  EXPECT_EQ(events[3], Json({{"type", "error"},
                             {"sequence_number", 3},
                             {"code", "internal"},
                             {"message", "a bug"},
                             {"param", nullptr}}));
}

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

// What a short body continues is counted, so that it is read where long texts are.
TEST_F(Responses, WhatIsContinuedCounts) {
  answered(*body({{"input", std::string(2000, 'x')}}, "a"), said("3"));
  const Json next = {{"input", "x"}, {"previous_response_id", "resp_a"}};
  Bounds small(1000);
  const auto refused = read_responses_body(next, {.model = *tiny_model(),
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
