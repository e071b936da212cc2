// POST /v1/messages and /v1/messages/count_tokens over a connection.
#include <filesystem>
#include <fstream>

#include "serve/client.h"
#include "text/text_testing.h"

namespace pando::testing {
namespace {

constexpr const char* kPath = "/v1/messages";
constexpr const char* kLetterA = "97";

// A model of bytes whose template writes tools, calls, and whether it is to think.
std::unique_ptr<Engine> open_with_tools() {
  const TemporaryFolder folder;
  RandomModelOptions random;
  random.out = folder.path() / "model";
  random.tokenizer = folder.path() / "tokenizer";
  random.max_positions = kTinyContext;
  std::filesystem::create_directories(random.tokenizer);
  std::ofstream(random.tokenizer / "tokenizer.json") << byte_level_json({}, Json::array()).dump();
  std::ofstream(random.tokenizer / "tokenizer_config.json")
      << Json{{"chat_template",
               "{% if tools %}{{ tools | tojson }}{% endif %}"
               "{% if enable_thinking %}Think.{% endif %}"
               "{% for m in messages %}{{ '\\n' + m.role + ':' }}{{ m.content or '' }}"
               "{% if m.tool_calls %}{{ m.tool_calls | tojson }}{% endif %}{% endfor %}"
               "{% if add_generation_prompt %}{{ '\\nassistant:' }}{% endif %}"}}
             .dump();
  if (Status status = make_random_model(random); !status)
    throw std::runtime_error(status.error().message());
  return Engine::open(Model::load(random.out).value(), tiny_options()).value();
}

Json message(const Json& more = Json::object()) {
  Json body = {{"max_tokens", 6},
               {"temperature", 0},
               {"ignore_eos", true},
               {"messages", {{{"role", "user"}, {"content", "Q?"}}}}};
  body.update(more);
  return body;
}

const Json kTools = {{{"name", "weather"},
                      {"description", "Says the weather."},
                      {"input_schema", {{"type", "object"}}}}};

class Messages : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    server_ = new RunningServer(tiny_server_options(), open_with_tools());
  }
  static void TearDownTestSuite() { delete std::exchange(server_, nullptr); }

  Json post(const std::string& path, const Json& body, int status = 200) {
    const Answer answer = client_.post(path, body);
    EXPECT_EQ(answer.status, status) << answer.body;
    return answer.json();
  }
  Json error(const Json& body, int status = 400) {
    const Json json = post(kPath, body, status);
    EXPECT_EQ(json["type"], "error") << json;
    return json["error"];
  }
  size_t count(const Json& body) { return post("/v1/messages/count_tokens", body)["input_tokens"]; }

  static inline RunningServer* server_ = nullptr;
  Client client_{server_->port()};
};

size_t n_input(const Json& answer) {
  const Json& usage = answer["usage"];
  return usage["input_tokens"].get<size_t>() + usage["cache_read_input_tokens"].get<size_t>();
}

TEST_F(Messages, AnswerAsAChatDoes) {
  const Json chat =
      post("/v1/chat/completions",
           {{"max_tokens", 6},
            {"temperature", 0},
            {"ignore_eos", true},
            {"messages",
             {{{"role", "system"}, {"content", "S"}}, {{"role", "user"}, {"content", "Q?"}}}}});
  const Json answer = post("/v1/messages?beta=true", message({{"system", "S"}}));
  EXPECT_TRUE(answer["id"].get<std::string>().starts_with("msg_"));
  EXPECT_EQ(answer["type"], "message");
  EXPECT_EQ(answer["role"], "assistant");
  EXPECT_EQ(answer["model"], "tiny");
  ASSERT_EQ(answer["content"].size(), 1u);
  EXPECT_EQ(answer["content"][0]["type"], "text");
  EXPECT_EQ(answer["content"][0]["text"], chat["choices"][0]["message"]["content"]);
  EXPECT_EQ(answer["stop_reason"], "max_tokens");
  EXPECT_EQ(answer["stop_sequence"], nullptr);
  EXPECT_EQ(answer["usage"]["output_tokens"], 6);
  EXPECT_EQ(n_input(answer), chat["usage"]["prompt_tokens"]);
}

TEST_F(Messages, AStreamSaysTheSame) {
  Json body = message({{"max_tokens", 30}, {"temperature", 1}, {"seed", 3}});
  const Json whole = post(kPath, body);
  body["stream"] = true;
  const Answer answer = client_.post(kPath, body);
  EXPECT_TRUE(answer.content_type.starts_with("text/event-stream"));
  const std::vector<Json> events = answer.named_events();
  std::string text;
  for (const Json& event : events)
    if (event["type"] == "content_block_delta") text += event["delta"]["text"].get<std::string>();
  EXPECT_EQ(text, whole["content"][0]["text"]);
  ASSERT_GE(events.size(), 6u);
  EXPECT_EQ(events[0]["type"], "message_start");
  EXPECT_EQ(events[0]["message"]["usage"]["input_tokens"], n_input(whole));
  EXPECT_EQ(events[1]["type"], "content_block_start");
  const Json& last = events[events.size() - 2];
  EXPECT_EQ(last["type"], "message_delta");
  EXPECT_EQ(last["delta"]["stop_reason"], whole["stop_reason"]);
  EXPECT_EQ(last["usage"]["output_tokens"], whole["usage"]["output_tokens"]);
  EXPECT_EQ(n_input(last), n_input(whole));
  EXPECT_EQ(events.back()["type"], "message_stop");
}

TEST_F(Messages, StopSequencesAreNamed) {
  const Json answer = post(kPath, message({{"logit_bias", {{kLetterA, 100}}},
                                           {"stop_sequences", {"no such text", "aaa"}}}));
  EXPECT_EQ(answer["content"], Json::array()) << answer;
  EXPECT_EQ(answer["stop_reason"], "stop_sequence");
  EXPECT_EQ(answer["stop_sequence"], "aaa");
  EXPECT_EQ(answer["usage"]["output_tokens"], 3);
}

TEST_F(Messages, TokensAreThoseOfThePrompt) {
  const Json plain = message(), with_tools = message({{"tools", kTools}, {"system", "S"}});
  for (const Json& body : {plain, with_tools}) {
    EXPECT_EQ(count(body), n_input(post(kPath, body)));
    EXPECT_EQ(n_input(post(kPath, body)), count(body)) << "from the cache";
  }
  EXPECT_GT(count(with_tools), count(plain) + 50);
  Json without_length = plain;
  without_length.erase("max_tokens");
  EXPECT_EQ(count(without_length), count(plain));
  Json unused = with_tools;
  unused["tool_choice"] = {{"type", "none"}};
  EXPECT_LT(count(unused), count(with_tools));
  EXPECT_EQ(count(message({{"thinking", {{"type", "adaptive"}}}})), count(plain) + 6);
  EXPECT_EQ(count(message({{"thinking", {{"type", "disabled"}}}})), count(plain));
}

TEST_F(Messages, ResultsOfToolsAndBegunAnswersReachTheTemplate) {
  const Json call = {{{"role", "assistant"},
                      {"content",
                       {{{"type", "tool_use"},
                         {"id", "t"},
                         {"name", "weather"},
                         {"input", {{"city", "Rome"}}}}}}}};
  const Json result = {
      {"role", "user"},
      {"content", {{{"type", "tool_result"}, {"tool_use_id", "t"}, {"content", "Sunny"}}}}};
  const Json asked = message()["messages"][0];
  const Json body = message({{"tools", kTools}, {"messages", {asked, call[0], result}}});
  EXPECT_EQ(count(body), n_input(post(kPath, body)));
  EXPECT_GT(count(body), count(message({{"tools", kTools}})) + 40);
  const Json begun = {{"role", "assistant"}, {"content", "It is"}};
  EXPECT_EQ(count(message({{"messages", {asked, begun}}})), count(message()) + 5);
}

// Clients send the most that a model may write.
TEST_F(Messages, AnAnswerTakesWhatTheContextHasRoomFor) {
  const Json answer = post(
      kPath, message({{"max_tokens", 100000},
                      {"messages", {{{"role", "user"}, {"content", std::string(600, 'x')}}}}}));
  EXPECT_EQ(answer["stop_reason"], "model_context_window_exceeded");
  EXPECT_EQ(n_input(answer) + answer["usage"]["output_tokens"].get<size_t>(), kTinyContext);
}

TEST_F(Messages, Errors) {
  Json body = message();
  body.erase("max_tokens");
  Json said = error(body);
  EXPECT_EQ(said["type"], "invalid_request_error");
  EXPECT_EQ(said["message"], "the body has no 'max_tokens'");
  EXPECT_EQ(said["param"], "max_tokens");
  EXPECT_EQ(error(message({{"max_tokens", 0}}))["param"], "max_tokens");
  EXPECT_EQ(error(message({{"temperature", -1}}))["param"], "temperature");
  EXPECT_EQ(error(message({{"stop_sequences", {""}}}))["param"], "stop_sequences");
  EXPECT_EQ(error(message({{"stop_sequences", 5}}))["message"],
            "field 'stop_sequences' is 5, expected a string or a list of strings");
  EXPECT_EQ(error(message({{"tools", {{{"name", 5}, {"input_schema", Json::object()}}}}}))["param"],
            "tools[0].name");
  EXPECT_EQ(
      error(message(
          {{"output_config",
            {{"format", {{"type", "json_schema"}, {"schema", {{"type", "sting"}}}}}}}}))["param"],
      "output_config.format");
  EXPECT_EQ(error(message(
                {{"messages", {{{"role", "user"}, {"content", std::string(700, 'x')}}}}}))["param"],
            "messages");
  EXPECT_EQ(error(message({{"thread", {{"type", "create"}}}}))["details"]["error_code"],
            "thread_unsupported_request");
  EXPECT_EQ(error(message({{"model", "other"}}), 404)["type"], "not_found_error");
  const Answer got = client_.get(kPath);
  EXPECT_EQ(got.status, 405);
  EXPECT_EQ(got.json()["error"]["type"], "invalid_request_error");
  EXPECT_EQ(client_.post("/v1/messages/count_tokens", {{"messages", 5}}).json()["error"]["param"],
            "messages");
}

TEST(KeysOfRequests, ComeInHeadersOfSeveralApis) {
  serve::ServerOptions options = tiny_server_options();
  options.api_keys = {"a-key-of-the-tests", "another-key-of-the-tests"};
  RunningServer server(options, open_with_tools());
  const auto ask = [&](const char* path, const std::string& headers) {
    Client client(server.port());
    client.send(post_text(path, message().dump(), headers));
    return client.read();
  };
  const std::string key = "a-key-of-the-tests\r\n";
  for (const char* path : {kPath, "/v1/messages/count_tokens", "/v1/chat/completions"})
    for (const char* header : {"Authorization: Bearer ", "x-api-key: ", "Api-Key: ",
                               "anthropic-version: 2023-06-01\r\nanthropic-beta: b\r\nX-Api-Key: "})
      EXPECT_EQ(ask(path, header + key).status, 200) << path << header;
  EXPECT_EQ(ask(kPath, "X-Api-Key: " + key + "Api-Key: " + key).status, 200);
  const Answer wrong = ask(kPath, "X-Api-Key: a-key-of-nobody\r\n");
  EXPECT_EQ(wrong.status, 401);
  EXPECT_EQ(wrong.json()["error"]["type"], "authentication_error");
  const Answer several =
      ask(kPath, "X-Api-Key: " + key + "Authorization: Bearer another-key-of-the-tests\r\n");
  EXPECT_EQ(several.status, 401);
  EXPECT_EQ(several.json()["error"]["message"],
            "the headers have different API keys, expected one key");
}

}  // namespace
}  // namespace pando::testing
