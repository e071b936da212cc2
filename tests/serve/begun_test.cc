// Streams that another replica began go on with the same bytes, wherever they were cut.
#include "model/test_files.h"
#include "serve/routed_testing.h"
#include "serve/scripted_engine.h"

namespace pando::testing {
namespace {

struct BegunCase {
  std::string path;
  Json body;
};

// Cuts the stream behind each unit and asks a server for the rest.
void expect_to_go_on(uint16_t first, uint16_t second, const BegunCase& asked) {
  Json body = asked.body;
  body["stream"] = true;
  body["cache"] = false;  // the usage says what was cached
  const Answer answer = ask_routed(first, asked.path, body);
  ASSERT_EQ(answer.status, 200) << answer.body;
  const ToldStream whole = told_stream(answer.body);
  ASSERT_GT(whole.units.size(), 1U) << answer.body;
  const std::string done = "data: [DONE]\n\n";
  const std::string end = answer.body.ends_with(done) ? done : "";
  const ToldStream other = told_stream(ask_routed(second, asked.path, body).body);
  EXPECT_EQ(events_by_answer(other, 0, end), events_by_answer(whole, 0, end)) << asked.path;
  for (size_t cut = 0; cut <= whole.units.size(); ++cut) {
    Json again = body;
    again["pando_begun"] = begun_by(whole, cut);
    const Answer rest = ask_routed(second, asked.path, again);
    ASSERT_EQ(rest.status, 200) << rest.body;
    const ToldStream told = told_stream(rest.body);
    if (cut < whole.units.size()) {
      EXPECT_EQ(told.head, "") << "cut " << cut << "\n" << rest.body;
    } else {  // all was told but the end
      EXPECT_TRUE(whole.units.back().events.ends_with(told.head)) << rest.body;
    }
    EXPECT_TRUE(rest.body.ends_with(end));
    EXPECT_EQ(events_by_answer(told, 0, end), events_by_answer(whole, cut, end))
        << asked.path << " cut " << cut << "\n"
        << answer.body << "\n"
        << rest.body;
  }
}

std::vector<BegunCase> plain_cases() {
  const Json message = {{"role", "user"}, {"content", "Q?"}};
  const Json drawn = {{"temperature", 1}, {"max_tokens", 8}, {"ignore_eos", true}};
  std::vector<BegunCase> cases = {
      {"/v1/completions", {{"prompt", "One"}}},
      {"/v1/completions", {{"prompt", {"One", "Two"}}, {"n", 2}}},
      {"/v1/completions", {{"prompt", "One"}, {"echo", true}, {"frequency_penalty", 1}}},
      {"/v1/completions", {{"prompt", "One"}, {"logprobs", 2}}},
      {"/v1/chat/completions",
       {{"messages", {message}}, {"stream_options", {{"include_usage", true}}}}},
      {"/v1/chat/completions", {{"messages", {message}}, {"n", 2}, {"logprobs", true}}},
      {"/v1/chat/completions",
       {{"messages", {message}},
        {"response_format",
         {{"type", "json_schema"},
          {"json_schema",
           {{"name", "a"}, {"schema", {{"enum", {"some text", "some other text"}}}}}}}}}},
      {"/v1/messages", {{"messages", {message}}}},
      {"/v1/responses",
       {{"input", "Q?"}, {"temperature", 1}, {"max_output_tokens", 8}, {"store", false}}},
      {"/v1/answers", {{"context", "Text."}, {"questions", {"Who?", "Where?"}}}},
      {"/v1/answers",
       {{"context", "Text."}, {"questions", {"Who?", "Where?"}}, {"choices", {"yes", "no"}}}}};
  for (BegunCase& one : cases)
    for (const auto& [name, value] : drawn.items())
      if (one.path != "/v1/responses" && !(one.path == "/v1/messages" && name == "ignore_eos"))
        one.body.emplace(name, value);
  return cases;
}

TEST(BegunStreams, GoOnAtAnotherServer) {
  EngineOptions other = tiny_options();
  other.seed = 99;  // the router's counts
  RunningServer first, second(tiny_server_options(), other);
  for (const BegunCase& asked : plain_cases()) expect_to_go_on(first.port(), second.port(), asked);
}

// Reasoning, a text and calls, in the forms of all doors.
TEST(BegunStreams, CallsAndReasoningGoOn) {
  const std::string script =
      "<think>Hm. Zürich?</think>I look.<tool_call>\n"
      R"({"name": "weather", "arguments": {"city": "Paris"}})"
      "\n</tool_call><tool_call>\n"
      R"({"name": "weather", "arguments": {"city": "Rome"}})"
      "\n</tool_call>";
  RunningServer first(tiny_server_options(), open_scripted(script));
  RunningServer second(tiny_server_options(), open_scripted(script));
  const Json schema = {{"type", "object"}, {"properties", {{"city", {{"type", "string"}}}}}};
  const Json message = {{"role", "user"}, {"content", "Weather?"}};
  const Json function = {{"name", "weather"}, {"parameters", schema}};
  Json flat = function;
  flat["type"] = "function";
  const BegunCase cases[] = {{"/v1/chat/completions",
                              {{"messages", {message}},
                               {"tools", {{{"type", "function"}, {"function", function}}}},
                               {"max_tokens", 400},
                               {"temperature", 0}}},
                             {"/v1/messages",
                              {{"messages", {message}},
                               {"tools", {{{"name", "weather"}, {"input_schema", schema}}}},
                               {"max_tokens", 400},
                               {"temperature", 0}}},
                             {"/v1/responses",
                              {{"input", "Weather?"},
                               {"tools", {flat}},
                               {"max_output_tokens", 400},
                               {"temperature", 0},
                               {"store", false}}}};
  for (const BegunCase& asked : cases) expect_to_go_on(first.port(), second.port(), asked);
}

TEST(BegunStreams, AnEmptyFieldLeavesOutTheHeadAlone) {
  RunningServer server;
  Json body = {{"messages", {{{"role", "user"}, {"content", "Q?"}}}},
               {"max_tokens", 3},
               {"stream", true},
               {"cache", false}};
  const std::string path = "/v1/chat/completions";
  const std::string whole = ask_routed(server.port(), path, body).body;
  body["pando_begun"] = Json::array();
  EXPECT_EQ(told_stream(whole).head + ask_routed(server.port(), path, body).body, whole);
}

TEST(BegunStreams, WrongFieldsAreRefused) {
  RunningServer server;
  const auto message_of = [&](const Json& begun, const Json& more = Json::object()) {
    Json body = {{"prompt", "One"}, {"max_tokens", 2}, {"stream", true}, {"pando_begun", begun}};
    body.update(more);
    const Answer answer = ask_routed(server.port(), "/v1/completions", body);
    EXPECT_EQ(answer.status, 400) << answer.body;
    return answer.json()["error"]["message"].get<std::string>();
  };
  const auto entry = [](int request, int choice, const Json& tokens) {
    return Json::array({{{"request", request}, {"choice", choice}, {"tokens", tokens}}});
  };
  EXPECT_NE(message_of(7).find("is not a list"), std::string::npos);
  EXPECT_NE(message_of(Json::array({7})).find("is not an object"), std::string::npos);
  EXPECT_NE(message_of(entry(1, 0, Json::array({1}))).find("has request 1, expected less than 1"),
            std::string::npos);
  EXPECT_NE(message_of(entry(0, 2, Json::array({1}))).find("has choice 2, expected at most 1"),
            std::string::npos);
  EXPECT_NE(message_of(entry(0, 0, Json::array({1, 2, 3}))).find("has an answer of 3 tokens"),
            std::string::npos);
  EXPECT_NE(message_of(Json::array(), {{"stream", false}}).find("needs a stream of events"),
            std::string::npos);
}

}  // namespace
}  // namespace pando::testing
