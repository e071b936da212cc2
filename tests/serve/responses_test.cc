// POST /v1/responses and what is kept of it, over HTTP.
#include "model/test_files.h"
#include "serve/endpoints.h"

namespace pando::testing {
namespace {

const Json kAsked = {
    {"input", "Q?"}, {"temperature", 0}, {"max_output_tokens", 6}, {"ignore_eos", true}};

Json with(Json body, const Json& more) {
  body.update(more);
  return body;
}

std::vector<Json> numbered_events(const Answer& answer) {
  std::vector<Json> events = answer.named_events();
  for (size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i]["sequence_number"], i);
  return events;
}

// Without what no two answers have in common.
Json comparable(Json response) {
  for (const char* name : {"id", "created_at", "usage"}) response.erase(name);
  for (Json& item : response["output"]) item.erase("id");
  return response;
}

std::string text_of(const Json& response) {
  std::string text;
  for (const Json& item : response["output"])
    if (item["type"] == "message") text += item["content"][0]["text"];
  return text;
}

class ResponsesOverHttp : public Endpoints {};

TEST_F(ResponsesOverHttp, SaysWhatAChatSays) {
  const Json response = post("/v1/responses", kAsked);
  const Json chat =
      post("/v1/chat/completions", {{"messages", {{{"role", "user"}, {"content", "Q?"}}}},
                                    {"temperature", 0},
                                    {"max_tokens", 6},
                                    {"ignore_eos", true}});
  EXPECT_EQ(text_of(response), chat["choices"][0]["message"]["content"]);
  EXPECT_EQ(response["usage"]["input_tokens"], chat["usage"]["prompt_tokens"]);
  EXPECT_EQ(response["usage"]["output_tokens"], 6);
  EXPECT_EQ(response["status"], "incomplete");
}

TEST_F(ResponsesOverHttp, AStreamEndsWithTheWholeAnswer) {
  for (const Json& more :
       {Json(Json::object()), Json{{"include", {"message.output_text.logprobs"}}}}) {
    const Json asked = with(kAsked, more);
    const Json whole = post("/v1/responses", asked);
    const Answer answer = client_.post("/v1/responses", with(asked, {{"stream", true}}));
    EXPECT_TRUE(answer.content_type.starts_with("text/event-stream"));
    const std::vector<Json> events = numbered_events(answer);
    ASSERT_GE(events.size(), 6u);
    EXPECT_EQ(events[0]["type"], "response.created");
    EXPECT_EQ(events.back()["type"], "response.incomplete");
    EXPECT_EQ(comparable(events.back()["response"]), comparable(whole));
    std::string text;
    for (const Json& event : events)
      if (event["type"] == "response.output_text.delta") text += event["delta"];
    EXPECT_EQ(text, text_of(whole));
    const Json id = events.back()["response"]["id"];
    EXPECT_EQ(client_.get("/v1/responses/" + id.get<std::string>()).json(),
              events.back()["response"])
        << "it was stored before its last event was sent";
  }
  const Json logprobs = post("/v1/responses", with(kAsked, {{"top_logprobs", 2}}));
  const Json& list = logprobs["output"][0]["content"][0]["logprobs"];
  ASSERT_EQ(list.size(), 6u);
  EXPECT_EQ(list[0]["top_logprobs"].size(), 2u);
}

TEST_F(ResponsesOverHttp, Schemas) {
  const Json format = {{"type", "json_schema"},
                       {"name", "n"},
                       {"strict", true},
                       {"schema",
                        {{"type", "object"},
                         {"properties", {{"a", {{"type", "boolean"}}}}},
                         {"required", {"a"}},
                         {"additionalProperties", false}}}};
  const Json response = post("/v1/responses", {{"input", "Q?"}, {"text", {{"format", format}}}});
  EXPECT_TRUE(Json::parse(text_of(response))["a"].is_boolean());
  EXPECT_EQ(response["status"], "completed");
  EXPECT_EQ(response["text"]["format"], format);
  const Json wrong = {{"type", "json_schema"}, {"name", "n"}, {"schema", {{"type", "sting"}}}};
  EXPECT_EQ(error("/v1/responses", {{"input", "Q?"}, {"text", {{"format", wrong}}}})["param"],
            "text.format");
}

TEST_F(ResponsesOverHttp, ErrorsNameTheFieldsOfTheBody) {
  EXPECT_EQ(error("/v1/responses", Json::object())["param"], "input");
  EXPECT_EQ(error("/v1/responses", {{"input", std::string(1000, 'x')}})["param"], "input");
  const Json too_long = error("/v1/responses", {{"input", "x"}, {"max_output_tokens", 1000}});
  EXPECT_NE(too_long["message"].get<std::string>().find("'max_output_tokens' is 1000"),
            std::string::npos)
      << too_long;
  EXPECT_EQ(
      error("/v1/responses", with(kAsked, {{"previous_response_id", "resp_x"}}), 404)["param"],
      "previous_response_id");
  EXPECT_EQ(error("/v1/responses", with(kAsked, {{"tools", {{{"type", "web_search"}}}}}))["param"],
            "tools[0].type");
}

TEST_F(ResponsesOverHttp, AreContinued) {
  const Json first =
      post("/v1/responses", with(kAsked, {{"input", "One."}, {"instructions", "Be."}}));
  const Json second = post(
      "/v1/responses", with(kAsked, {{"input", "Two."}, {"previous_response_id", first["id"]}}));
  EXPECT_EQ(second["previous_response_id"], first["id"]);
  const Json all = {{{"role", "user"}, {"content", "One."}},
                    {{"role", "assistant"}, {"content", text_of(first)}},
                    {{"role", "user"}, {"content", "Two."}}};
  EXPECT_EQ(text_of(second), text_of(post("/v1/responses", with(kAsked, {{"input", all}}))));
}

TEST_F(ResponsesOverHttp, AreReadAndDeleted) {
  const Json asked = {{{"role", "user"}, {"content", "One."}},
                      {{"role", "assistant"}, {"content", "Two."}},
                      {{"role", "user"}, {"content", "Three."}}};
  const Json response = post("/v1/responses", with(kAsked, {{"input", asked}}));
  const std::string id = response["id"], path = "/v1/responses/" + id;
  EXPECT_EQ(client_.get(path).json(), response);
  const auto ids = [&](const std::string& query) {
    const Json list = client_.get(path + "/input_items" + query).json();
    std::string texts;
    for (const Json& item : list["data"]) texts += item["content"][0]["text"];
    return texts + (list["has_more"] ? "more" : "");
  };
  EXPECT_EQ(ids(""), "Three.Two.One.");
  EXPECT_EQ(ids("?order=asc"), "One.Two.Three.");
  EXPECT_EQ(ids("?order=asc&limit=1"), "One.more");
  const Json page = client_.get(path + "/input_items?order=asc&limit=1").json();
  EXPECT_EQ(ids("?order=asc&after=" + page["last_id"].get<std::string>()), "Two.Three.");
  EXPECT_EQ(client_.get(path + "/input_items?order=up").status, 400);
  EXPECT_EQ(client_.get(path + "/input_items?limit=0").status, 400);
  EXPECT_EQ(client_.get(path + "/input_items?after=x").status, 404);
  EXPECT_EQ(client_.get(path + "?stream=true").status, 400);
  EXPECT_EQ(client_.ask("DELETE", path).json(),
            Json({{"id", id}, {"object", "response"}, {"deleted", true}}));
  EXPECT_EQ(client_.get(path).status, 404);
  EXPECT_EQ(client_.get(path + "/input_items").status, 404);
  EXPECT_EQ(client_.ask("DELETE", path).status, 404);
  EXPECT_EQ(error("/v1/responses", with(kAsked, {{"previous_response_id", id}}), 404)["message"],
            "there is no response '" + id + "'");
  const Json fleeting = post("/v1/responses", with(kAsked, {{"store", false}}));
  EXPECT_EQ(client_.get("/v1/responses/" + fleeting["id"].get<std::string>()).status, 404);
}

TEST_F(ResponsesOverHttp, PathsTellTheirMethods) {
  const auto allowed = [&](const std::string& method, const std::string& path) {
    Client client(server_->port());  // the connection ends behind such an answer
    const Answer answer = client.ask(method, path, method == "POST" ? "{}" : "");
    EXPECT_EQ(answer.status, 405) << path;
    return answer.allow;
  };
  EXPECT_EQ(allowed("POST", "/v1/responses/resp_x"), "GET, HEAD, DELETE");
  EXPECT_EQ(allowed("DELETE", "/v1/responses/resp_x/input_items"), "GET, HEAD");
  EXPECT_EQ(allowed("GET", "/v1/responses"), "POST");
  EXPECT_EQ(allowed("DELETE", "/v1/models/tiny"), "GET, HEAD");
  EXPECT_EQ(client_.get("/v1/responses/").status, 404);
}

TEST(ResponsesOfKeys, AreTheirOwn) {
  const std::string one = "one-key-that-is-long", two = "two-keys-that-are-long";
  serve::ServerOptions options = tiny_server_options();
  options.api_keys = {one, two};
  RunningServer server(options);
  const auto ask = [&](const std::string& key, const std::string& method, const std::string& path,
                       const Json& body = {}) {
    return Client(server.port()).ask(method, path, body.is_null() ? "" : body.dump(), key);
  };
  const std::string id = ask(one, "POST", "/v1/responses", kAsked).json()["id"];
  const std::string path = "/v1/responses/" + id;
  EXPECT_EQ(Client(server.port()).get(path).status, 401);
  EXPECT_EQ(ask(two, "GET", path).status, 404);
  EXPECT_EQ(ask(two, "GET", path + "/input_items").status, 404);
  EXPECT_EQ(ask(two, "DELETE", path).status, 404);
  const Json next = with(kAsked, {{"previous_response_id", id}});
  EXPECT_EQ(ask(two, "POST", "/v1/responses", next).status, 404);
  EXPECT_EQ(ask(one, "POST", "/v1/responses", next).status, 200);
  EXPECT_EQ(ask(one, "GET", path).status, 200);
}

TEST(ResponsesOnDisk, OutliveTheServer) {
  const TemporaryFolder folder;
  serve::ServerOptions options = tiny_server_options();
  options.state_directory = (folder.path() / "state").string();
  Json response;
  {
    RunningServer server(options);
    response = Client(server.port()).post("/v1/responses", kAsked).json();
  }
  RunningServer server(options);
  Client client(server.port());
  EXPECT_EQ(client.get("/v1/responses/" + response["id"].get<std::string>()).json(), response);
  EXPECT_EQ(
      client.post("/v1/responses", with(kAsked, {{"previous_response_id", response["id"]}})).status,
      200);
}

// The answer is not lost, streamed or not, and says that it is not kept.
TEST(ResponsesOnDisk, WhatIsTooLargeIsNotStored) {
  serve::ServerOptions options = tiny_server_options();
  options.responses.n_bytes = 100;
  RunningServer server(options);
  Client client(server.port());
  const Answer whole = client.post("/v1/responses", kAsked);
  EXPECT_EQ(whole.status, 200);
  const Json response = whole.json();
  EXPECT_EQ(response["store"], false);
  EXPECT_EQ(response["warnings"].size(), 1u);
  EXPECT_EQ(client.get("/v1/responses/" + response["id"].get<std::string>()).status, 404);
  const std::vector<Json> events =
      numbered_events(client.post("/v1/responses", with(kAsked, {{"stream", true}})));
  ASSERT_GE(events.size(), 3u);
  EXPECT_EQ(events.back()["type"], "response.incomplete");
  EXPECT_EQ(events.back()["response"]["store"], false);
  EXPECT_EQ(client.post("/v1/responses", with(kAsked, {{"store", false}})).status, 200);
}

}  // namespace
}  // namespace pando::testing
