// Bodies of /v1/responses: what they ask, their answers and their streams.
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ask/responses_body.h"
#include "ask/responses_testing.h"

namespace pando::ask {
namespace {

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

}  // namespace
}  // namespace pando::ask
