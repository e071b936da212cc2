// Calls of tools in answers over HTTP, of a model that writes what the test wants.
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "serve/client.h"
#include "serve/scripted_engine.h"

namespace pando::testing {
namespace {

// The items of an answer, in its order: {"reasoning", "text" or a tool's name, content}. Arguments
// are JSON without white space.
struct Parted {
  std::vector<std::pair<std::string, std::string>> items;
  std::string end;  // finish_reason, stop_reason or status

  void add(const std::string& kind, const std::string& text) { items.emplace_back(kind, text); }
  void add_more(const std::string& kind, const std::string& text) {
    if (items.empty() || items.back().first != kind) add(kind, "");
    items.back().second += text;
  }
  void add_call(const Json& name, const Json& arguments) {
    add(name, Json::parse(arguments.get<std::string>()).dump());
  }
  bool operator==(const Parted&) const = default;
};

void PrintTo(const Parted& parted, std::ostream* out) {
  *out << Json{{"items", parted.items}, {"end", parted.end}}.dump(2);
}

const Json kCitySchema = {{"type", "object"},
                          {"properties", {{"city", {{"enum", {"Paris", "Zürich"}}}}}},
                          {"required", {"city"}}};

struct ToolApi {
  const char* path;
  const char *calls_end, *text_end, *length_end;  // Parted::end
  Json (*body)(int max_tokens);
  Parted (*whole)(const Json&);
  Parted (*joined)(const Answer&);
};

Json chat_with_tool(int max_tokens) {
  return {
      {"messages", {{{"role", "user"}, {"content", "Weather?"}}}},
      {"tools",
       {{{"type", "function"}, {"function", {{"name", "weather"}, {"parameters", kCitySchema}}}}}},
      {"tool_choice", "auto"},
      {"max_tokens", max_tokens}};
}

Parted parted_chat(const Json& json) {
  const Json& choice = json["choices"][0];
  const Json& message = choice["message"];
  Parted parted{.end = choice["finish_reason"]};
  if (message.contains("reasoning_content")) parted.add("reasoning", message["reasoning_content"]);
  if (message["content"].is_string() && message["content"] != "")
    parted.add("text", message["content"]);
  for (const Json& call : message.value("tool_calls", Json::array())) {
    EXPECT_EQ(call["type"], "function");
    EXPECT_NE(call["id"], "");
    parted.add_call(call["function"]["name"], call["function"]["arguments"]);
  }
  return parted;
}

Parted joined_chat(const Answer& answer) {
  Parted parted;
  int n_calls = 0;
  for (const Json& event : answer.events()) {
    const Json &choice = event["choices"][0], &delta = choice["delta"];
    if (delta.contains("reasoning_content"))
      parted.add_more("reasoning", delta["reasoning_content"]);
    if (delta.value("content", "") != "") parted.add_more("text", delta["content"]);
    for (const Json& call : delta.value("tool_calls", Json::array())) {
      EXPECT_EQ(call["index"], n_calls++);
      EXPECT_NE(call["id"], "");
      parted.add_call(call["function"]["name"], call["function"]["arguments"]);
    }
    if (!choice["finish_reason"].is_null()) parted.end = choice["finish_reason"];
  }
  return parted;
}

Json response_with_tool(int max_tokens) {
  return {{"input", "Weather?"},
          {"tools", {{{"type", "function"}, {"name", "weather"}, {"parameters", kCitySchema}}}},
          {"tool_choice", "auto"},
          {"max_output_tokens", max_tokens}};
}

Parted parted_response(const Json& json) {
  Parted parted{.end = json["status"]};
  for (const Json& item : json["output"]) {
    if (item["type"] == "function_call") {
      EXPECT_NE(item["call_id"], "");
      parted.add_call(item["name"], item["arguments"]);
    } else {
      EXPECT_EQ(item["content"].size(), 1u);
      parted.add(item["type"] == "message" ? "text" : item["type"], item["content"][0]["text"]);
    }
  }
  return parted;
}

Parted joined_response(const Answer& answer) {
  Parted parted;
  const std::vector<Json> events = answer.named_events();
  for (const Json& event : events) {
    if (event["type"] == "response.reasoning_text.delta")
      parted.add_more("reasoning", event["delta"]);
    if (event["type"] == "response.output_text.delta") parted.add_more("text", event["delta"]);
    if (event["type"] == "response.function_call_arguments.done")
      parted.add_call(event["name"], event["arguments"]);
  }
  parted.end = events.back()["response"]["status"];
  EXPECT_EQ(parted_response(events.back()["response"]), parted);
  return parted;
}

Json message_with_tool(int max_tokens) {
  return {{"messages", {{{"role", "user"}, {"content", "Weather?"}}}},
          {"tools", {{{"name", "weather"}, {"input_schema", kCitySchema}}}},
          {"tool_choice", {{"type", "auto"}}},
          {"max_tokens", max_tokens}};
}

Parted parted_message(const Json& json) {
  Parted parted{.end = json["stop_reason"]};
  for (const Json& block : json["content"]) {
    if (block["type"] == "tool_use") {
      EXPECT_NE(block["id"], "");
      parted.add(block["name"], block["input"].dump());
    } else {
      const bool is_text = block["type"] == "text";
      parted.add(is_text ? "text" : "reasoning", block[is_text ? "text" : "thinking"]);
    }
  }
  return parted;
}

Parted joined_message(const Answer& answer) {
  Json blocks = Json::array();
  Parted parted;
  for (const Json& event : answer.named_events()) {
    if (event["type"] == "content_block_start") {
      EXPECT_EQ(event["index"], blocks.size());
      blocks.push_back(event["content_block"]);
      if (blocks.back()["type"] == "tool_use") blocks.back()["input"] = "";
    } else if (event["type"] == "content_block_delta") {
      const Json& delta = event["delta"];
      for (const auto& [from, to] : {std::pair("text", "text"), std::pair("thinking", "thinking"),
                                     std::pair("partial_json", "input")})
        if (delta.contains(from))
          blocks[event["index"].get<size_t>()][to].get_ref<std::string&>() += delta[from];
    } else if (event["type"] == "message_delta") {
      parted.end = event["delta"]["stop_reason"];
    }
  }
  for (Json& block : blocks)
    if (block["type"] == "tool_use") block["input"] = Json::parse(std::string(block["input"]));
  parted.items = parted_message({{"content", blocks}, {"stop_reason", ""}}).items;
  return parted;
}

constexpr ToolApi kToolApis[] = {{"/v1/chat/completions", "tool_calls", "stop", "length",
                                  chat_with_tool, parted_chat, joined_chat},
                                 {"/v1/responses", "completed", "completed", "incomplete",
                                  response_with_tool, parted_response, joined_response},
                                 {"/v1/messages", "tool_use", "end_turn", "max_tokens",
                                  message_with_tool, parted_message, joined_message}};

std::string written_call(const std::string& city) {
  return "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"" + city +
         "\"}}\n</tool_call>";
}
std::pair<std::string, std::string> call_of(const std::string& city) {
  return {"weather", Json{{"city", city}}.dump()};
}

using Items = std::vector<std::pair<std::string, std::string>>;

// Asks for an answer of a model that writes `script`, by each API, as a whole and as a stream. Each
// of its tokens is one byte, but for the ">x" of a broken call.
void expect_answers(const std::string& script, const Items& items, const char* ToolApi::*end,
                    int max_tokens = 1000) {
  RunningServer server(tiny_server_options(), open_scripted(script));
  Client client(server.port());
  for (const ToolApi& api : kToolApis) {
    Json body = api.body(max_tokens);
    body["temperature"] = 0;
    const Parted expected{items, api.*end};
    const Answer whole = client.post(api.path, body);
    ASSERT_EQ(whole.status, 200) << api.path << whole.body;
    EXPECT_EQ(api.whole(whole.json()), expected) << api.path << whole.body;
    body["stream"] = true;
    const Answer streamed = client.post(api.path, body);
    ASSERT_EQ(streamed.status, 200) << api.path << streamed.body;
    EXPECT_EQ(api.joined(streamed), expected) << api.path << streamed.body;
  }
}

TEST(CallsOverHttp, StandBehindTheText) {
  expect_answers(written_call("Paris"), {call_of("Paris")}, &ToolApi::calls_end);
  expect_answers("In Zürich it is 20 °C, I think.\n" + written_call("Zürich"),
                 {{"text", "In Zürich it is 20 °C, I think."}, call_of("Zürich")},
                 &ToolApi::calls_end);
  expect_answers("No call.", {{"text", "No call."}}, &ToolApi::text_end);
}

TEST(CallsOverHttp, MayBeSeveral) {
  expect_answers("Both.\n" + written_call("Paris") + "\n" + written_call("Zürich"),
                 {{"text", "Both."}, call_of("Paris"), call_of("Zürich")}, &ToolApi::calls_end);
}

TEST(CallsOverHttp, StandBehindReasoning) {
  expect_answers("<think>Grüße, <tool_call> or not?</think>\n\n" + written_call("Paris"),
                 {{"reasoning", "Grüße, <tool_call> or not?"}, call_of("Paris")},
                 &ToolApi::calls_end);
  expect_answers("<think>Hm.</think>\n\nI look.\n" + written_call("Zürich"),
                 {{"reasoning", "Hm."}, {"text", "I look."}, call_of("Zürich")},
                 &ToolApi::calls_end);
}

TEST(CallsOverHttp, WhatIsBrokenIsText) {
  for (const std::string broken : {"Look: <tool_call>x{\"name\": \"weather\"} </tool_call> – done",
                                   R"({"name": "unknown", "arguments": {"city": "Zürich"}})",
                                   "A <tool_cal> and a </tool_call> of <tool_"})
    expect_answers(broken, {{"text", broken}}, &ToolApi::text_end);
}

TEST(CallsOverHttp, WhatMaxTokensCutsIsText) {
  const std::string begun = "Look: <tool_call>\n{\"name\": \"weather\", \"ar";
  expect_answers("Look: " + written_call("Paris"), {{"text", begun}}, &ToolApi::length_end,
                 static_cast<int>(begun.size()));
}

// Though each token is one byte. White space waits for what follows, as it may stand before a call.
TEST(CallsOverHttp, AStreamTellsTextByCharacters) {
  RunningServer server(tiny_server_options(),
                       open_scripted("It is 20 °C.\n" + written_call("Paris")));
  Client client(server.port());
  Json body = chat_with_tool(1000);
  body.update({{"temperature", 0}, {"stream", true}});
  std::vector<std::string> pieces;
  for (const Json& event : client.post("/v1/chat/completions", body).events())
    if (const std::string piece = event["choices"][0]["delta"].value("content", ""); !piece.empty())
      pieces.push_back(piece);
  EXPECT_EQ(pieces, (std::vector<std::string>{"I", "t", " i", "s", " 2", "0", " °", "C", "."}));
}

}  // namespace
}  // namespace pando::testing
