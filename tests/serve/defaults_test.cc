// A server's sampling defaults, and its overview (GET /).
#include <algorithm>

#include "serve/endpoints.h"

namespace pando::testing {
namespace {

GenerationConfig defaults_of(const std::string& text) {
  const TemporaryFolder folder;
  return read_generation_config(folder.write("own.json", text)).value();
}

class ServerDefaults : public ::testing::Test {
 protected:
  // The answer without the fields that differ between requests.
  static Json answer(Client& client, const std::string& path, const Json& body) {
    const Answer answer = client.post(path, body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    Json json = answer.json();
    for (const char* name : {"id", "created", "usage"}) json.erase(name);
    return json;
  }
};

// Requests give a seed, because the default one comes from the request's id.
TEST_F(ServerDefaults, HoldWhereARequestNamesNone) {
  serve::ServerOptions options = tiny_server_options();
  options.defaults = defaults_of(
      R"({"do_sample": true, "temperature": 0.7, "top_k": 5, "repetition_penalty": 1.3})");
  RunningServer server(std::move(options)), plain;
  Client with(server.port()), without(plain.port());
  const std::pair<const char*, Json> requests[] = {
      {"/v1/completions", {{"prompt", "P"}}},
      {"/v1/completions", {{"prompt", {65, 66, 67}}}},
      {"/v1/chat/completions", {{"messages", {{{"role", "user"}, {"content", "Q"}}}}}},
      {"/v1/answers", {{"context", "C"}, {"questions", {"One?", "Two?"}}}}};
  for (const auto& [path, bare] : requests) {
    Json body = bare;
    body["seed"] = 7;
    body["ignore_eos"] = true;
    body["max_tokens"] = 9;
    Json explicit_body = body;
    explicit_body["temperature"] = 0.7;
    explicit_body["top_k"] = 5;
    explicit_body["repetition_penalty"] = 1.3;
    const Json drawn = answer(with, path, body);
    EXPECT_EQ(drawn, answer(without, path, explicit_body)) << path;
    // A request's own options stay.
    Json greedy = explicit_body;
    greedy["temperature"] = 0;
    greedy["top_k"] = 0;
    greedy["repetition_penalty"] = 1;
    EXPECT_EQ(answer(with, path, greedy), answer(without, path, greedy)) << path;
    EXPECT_NE(answer(with, path, greedy), drawn) << path;
  }
}

TEST_F(ServerDefaults, ADoSampleThatIsFalseIsGreedy) {
  serve::ServerOptions options = tiny_server_options();
  options.defaults = defaults_of(R"({"do_sample": false, "temperature": 0.9})");
  RunningServer server(std::move(options)), plain;
  Client with(server.port()), without(plain.port());
  const Json body = {{"prompt", "P"}, {"seed", 3}, {"ignore_eos", true}};
  Json greedy = body;
  greedy["temperature"] = 0;
  EXPECT_EQ(answer(with, "/v1/completions", body), answer(without, "/v1/completions", greedy));
  EXPECT_NE(answer(without, "/v1/completions", body), answer(without, "/v1/completions", greedy));
}

TEST_F(ServerDefaults, TextsAndTokensThatEndAnswers) {
  serve::ServerOptions options = tiny_server_options();
  std::vector<int> every;
  for (int token = 0; token < 256; ++token) every.push_back(token);
  options.defaults = defaults_of(Json{{"eos_token_id", every}}.dump());
  RunningServer server(std::move(options));
  Client client(server.port());
  const auto n_tokens = [&](const Json& more) {
    Json body = {{"prompt", "P"}, {"temperature", 0}, {"max_tokens", 6}};
    body.update(more);
    const Answer answer = client.post("/v1/completions", body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.json()["usage"]["completion_tokens"].get<int>();
  };
  EXPECT_EQ(n_tokens(Json::object()), 1);
  EXPECT_EQ(n_tokens({{"ignore_eos", true}}), 6);
  EXPECT_EQ(n_tokens({{"ignore_eos", true}, {"stop_token_ids", every}}), 1);
}

TEST_F(ServerDefaults, TheLeastLengthYieldsToARequest) {
  serve::ServerOptions options = tiny_server_options();
  options.defaults = defaults_of(R"({"min_new_tokens": 4})");
  RunningServer server(std::move(options));
  Client client(server.port());
  for (const auto& [path, bare] :
       {std::pair<const char*, Json>{"/v1/completions", {{"prompt", "P"}}},
        {"/v1/chat/completions", {{"messages", {{{"role", "user"}, {"content", "Q"}}}}}},
        {"/v1/answers", {{"context", "C"}, {"questions", {"One?"}}}}}) {
    Json body = bare;
    body["max_tokens"] = 2;
    EXPECT_EQ(client.post(path, body).status, 200) << path;
    body["min_tokens"] = 3;
    EXPECT_EQ(client.post(path, body).status, 400) << path;
  }
}

TEST_F(Endpoints, TheRootSaysWhatRuns) {
  const Answer text = client_.get("/");
  EXPECT_EQ(text.status, 200);
  EXPECT_TRUE(text.content_type.starts_with("text/plain")) << text.content_type;
  for (const char* part :
       {" serves tiny.\n", "\n  POST /v1/chat/completions\n", "\n  GET /metrics\n",
        "docs/http-api.md", "/v1/chat/completions -H 'Content-Type: application/json' -d '{"})
    EXPECT_NE(text.body.find(part), std::string::npos) << part << " in " << text.body;
  EXPECT_EQ(text.body.find("Bearer"), std::string::npos);
  EXPECT_EQ(client_.ask("PUT", "/", "{}").status, 405);
  Client other(server_->port());
  other.send("GET / HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nAccept: application/json\r\n\r\n");
  const Json json = other.read().json();
  EXPECT_EQ(json["models"], Json::array({"tiny"}));
  EXPECT_NE(std::ranges::find(json["paths"], Json("POST /v1/answers")), json["paths"].end());
  // The example request gets an answer.
  const std::string example = json["example"];
  EXPECT_TRUE(example.starts_with("curl http://127.0.0.1:8000/v1/chat/completions ")) << example;
  const size_t begin = example.find("-d '") + 4;
  Json body = Json::parse(example.substr(begin, example.size() - 1 - begin));
  body["max_tokens"] = 3;
  EXPECT_EQ(other.post("/v1/chat/completions", body).status, 200);
}

TEST(Root, NeedsAKeyWhereThereAreKeys) {
  serve::ServerOptions options = tiny_server_options();
  options.api_keys = {"alice:0123456789abcdef"};
  RunningServer server(std::move(options));
  Client client(server.port());
  EXPECT_EQ(client.get("/").status, 401);
  const Answer known = client.ask("GET", "/", "", "0123456789abcdef");
  EXPECT_EQ(known.status, 200);
  EXPECT_NE(known.body.find("-H 'Authorization: Bearer KEY'"), std::string::npos) << known.body;
}

}  // namespace
}  // namespace pando::testing
