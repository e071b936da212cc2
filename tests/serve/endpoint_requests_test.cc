// Every endpoint, over a connection: fields they take and refuse.
#include <filesystem>
#include <fstream>

#include "pando/embed.h"
#include "serve/endpoints.h"

namespace pando::testing {
namespace {

// Clients of OpenAI send these though they want nothing by it.
TEST_F(Endpoints, FieldsThatChangeNothing) {
  const Json talk = {{{"role", "system"}, {"content", "Be short."}},
                     {{"role", "user"}, {"content", "Q"}}};
  Json body = {{"messages", talk}, {"max_tokens", 4}, {"temperature", 0}, {"ignore_eos", true}};
  const Json answer = post("/v1/chat/completions", body)["choices"];
  body.update({{"user", "u"},
               {"prompt_cache_key", "k"},
               {"prompt_cache_retention", "24h"},
               {"prompt_cache_options", {{"mode", "explicit"}, {"ttl", "30m"}}},
               {"cache_control", {{"type", "ephemeral"}}},
               {"id_slot", -1},
               {"n_cache_reuse", 256},
               {"prediction", {{"type", "content"}, {"content", "Q"}}},
               {"max_completion_tokens", 4},
               {"safety_identifier", "s"},
               {"metadata", {{"a", "b"}}},
               {"store", false},
               {"service_tier", "auto"},
               {"tools", Json::array()},
               {"tool_choice", "auto"},
               {"parallel_tool_calls", true},
               {"functions", nullptr},
               {"verbosity", "medium"},
               {"modalities", {"text"}}});
  EXPECT_EQ(post("/v1/chat/completions", body)["choices"], answer);
  Json marked = body;
  marked["messages"][1]["content"] = {{{"type", "text"}, {"text", "Q"}}};
  const Json in_parts = post("/v1/chat/completions", marked)["choices"];
  marked["messages"][1]["content"][0]["prompt_cache_breakpoint"] = {{"mode", "explicit"}};
  EXPECT_EQ(post("/v1/chat/completions", marked)["choices"], in_parts);
  Json text = completion("P");
  text["prompt_cache_retention"] = "in_memory";
  EXPECT_EQ(post("/v1/completions", text)["choices"],
            post("/v1/completions", completion("P"))["choices"]);
  Json streamed = body;
  streamed["stream_options"] = {{"include_obfuscation", false}};
  stream("/v1/chat/completions", streamed);
  body["messages"][0]["role"] = "developer";
  EXPECT_EQ(post("/v1/chat/completions", body)["choices"], answer);
  // An answer of the server's own is a message too.
  body["messages"].push_back(answer[0]["message"]);
  body["messages"].back().update({{"tool_calls", nullptr}, {"annotations", Json::array()}});
  body["messages"].push_back({{"role", "user"}, {"content", "And?"}});
  post("/v1/chat/completions", body);
  body["messages"][2]["tool_calls"] = {{{"id", "x"}}};
  post("/v1/chat/completions", body);
  body["messages"][2]["tool_calls"] = {"x"};
  error("/v1/chat/completions", body);
  body["messages"][2]["tool_calls"] = {{{"function", {{"name", "f"}, {"arguments", ""}}}}};
  post("/v1/chat/completions", body);
  body["messages"][2]["tool_calls"][0]["function"]["arguments"] = "[1]";
  EXPECT_EQ(error("/v1/chat/completions", body)["param"],
            "messages[2].tool_calls[0].function.arguments");
  for (const auto& [name, value] :
       {std::pair<const char*, Json>{"tools", {{{"type", "web_search"}}}},
        {"tool_choice", "required"},
        {"verbosity", "low"},
        {"modalities", {"text", "audio"}},
        {"reasoning_effort", "most"},
        {"parallel_tool_calls", 1}})
    EXPECT_NE(error("/v1/chat/completions", {{"messages", talk}, {name, value}})["message"]
                  .get<std::string>()
                  .find("'" + std::string(name)),
              std::string::npos);
}

// Every byte ends an answer, and the model's end token is no better: nothing else is left to draw.
TEST_F(Endpoints, MinTokensComeBeforeWhatEndsAnAnswer) {
  Json every_byte = Json::array();
  for (int byte = 0; byte < 256; ++byte) every_byte.push_back(byte);
  const std::pair<const char*, Json> asked[] = {
      {"/v1/completions", {{"prompt", "P"}}},
      {"/v1/chat/completions", {{"messages", {{{"role", "user"}, {"content", "Q"}}}}}},
      {"/v1/answers", {{"context", "C"}, {"questions", {"Q"}}}}};
  for (auto [path, body] : asked) {
    body.update({{"max_tokens", 9}, {"stop_token_ids", every_byte}, {"temperature", 0}});
    EXPECT_EQ(post(path, body)["usage"]["completion_tokens"], 1) << path;
    body["min_tokens"] = 4;
    EXPECT_EQ(post(path, body)["usage"]["completion_tokens"], 5) << path;
    body["min_tokens"] = 9;
    EXPECT_EQ(post(path, body)["usage"]["completion_tokens"], 9) << path;
    body["min_tokens"] = 10;
    const Json refused = error(path, body);
    EXPECT_EQ(refused["param"], "min_tokens") << path;
    EXPECT_NE(refused["message"].get<std::string>().find(
                  "min_tokens is 10, expected at most max_tokens, which is 9"),
              std::string::npos)
        << refused;
  }
}

TEST_F(Endpoints, RequestsThatGenerateNothingRefuseOptionsOfAnswers) {
  for (const auto& [path, body] : {std::pair<const char*, Json>{"/v1/embeddings", {{"input", "P"}}},
                                   {"/v1/rerank", {{"query", "Q"}, {"documents", {"D"}}}},
                                   {"/rerank", {{"query", "Q"}, {"texts", {"D"}}}},
                                   {"/v1/score", {{"text_1", "Q"}, {"text_2", "D"}}},
                                   {"/v1/score", {{"prompt", "P"}, {"continuations", {"C"}}}}}) {
    Json with = body;
    with["min_tokens"] = 1;
    const Json refused = error(path, with);
    EXPECT_EQ(refused["param"], "min_tokens") << path;
    EXPECT_EQ(refused["message"],
              "field 'min_tokens' has no meaning here, because nothing is generated")
        << path;
  }
}

TEST_F(Endpoints, FieldsOfBatchLinesAreUnknownInABody) {
  for (const char* name : {"question", "id", "metadata"})
    EXPECT_EQ(
        error("/v1/answers", {{"context", "C"}, {"questions", {"Q"}}, {name, "x"}})["message"],
        std::string("field '") + name + "' is unknown or unsupported");
  EXPECT_EQ(error("/v1/answers", {{"text", "C"}})["message"],
            "field 'text' is unknown, expected 'context' and 'questions'");
}

TEST_F(Endpoints, ErrorsNameTheFieldToBlame) {
  const Json prompt = {{"prompt", "P"}};
  for (const auto& [name, value] : {std::pair<const char*, Json>{"model", "other"},
                                    {"max_tokens", 100000},
                                    {"max_tokens", -1},
                                    {"max_tokens", "8"},
                                    {"temperature", -1},
                                    {"top_p", 2},
                                    {"top_k", -2},
                                    {"n", 0},
                                    {"min_p", 2},
                                    {"min_tokens", -1},
                                    {"min_tokens", 17},
                                    {"seed", "x"},
                                    {"stop", 5},
                                    {"prompt", 5},
                                    {"promt", "P"},
                                    {"logit_bias", {{"99999999", 1}}},
                                    {"deadline_class", "none"},
                                    {"ttft_slo_ms", 0},
                                    {"stream_options", {{"include_usage", true}}},
                                    {"stop", {"a", ""}},
                                    {"public_prefix", "none"},
                                    {"logprobs", 21},
                                    {"logprobs", -1},
                                    {"prompt", ""},
                                    {"prompt", Json::array()},
                                    {"prompt", {1 << 30}},
                                    {"best_of", 3},
                                    {"suffix", "s"}}) {
    Json body = prompt;
    body[name] = value;
    const Answer answer = client_.post("/v1/completions", body);
    EXPECT_GE(answer.status, 400) << body;
    EXPECT_EQ(answer.json()["error"]["param"], name) << answer.body;
  }
  EXPECT_EQ(error("/v1/completions", Json::object())["param"], "prompt");
  EXPECT_EQ(error("/v1/answers", {{"context", "c"}})["param"], "questions");
  EXPECT_EQ(error("/v1/chat/completions", {{"messages", Json::array()}})["param"], "messages");
  EXPECT_EQ(error("/tokenize", Json::object())["param"], nullptr);  // one of two
  const auto param = [&](const char* path, const Json& body) { return error(path, body)["param"]; };
  EXPECT_EQ(param("/v1/embeddings", {{"input", ""}}), "input");
  EXPECT_EQ(param("/v1/completions", {{"prompt", {"a", 5}}}), "prompt[1]");
  EXPECT_EQ(param("/v1/completions", {{"prompt", {{1, 2}, {3, "x"}}}}), "prompt[1][1]");
  EXPECT_EQ(param("/v1/completions", {{"prompt", "P"}, {"stop", {"a", 5}}}), "stop[1]");
  EXPECT_EQ(param("/v1/answers", {{"context", "c"}, {"questions", {"q"}}, {"template", "t"}}),
            "template");
  EXPECT_EQ(param("/v1/answers", {{"context", "c"}, {"questions", {"q", {{"text", 5}}}}}),
            "questions[1].text");
  EXPECT_EQ(param("/v1/rerank", {{"query", "q"}, {"documents", {"d", 5}}}), "documents[1]");
  EXPECT_EQ(param("/v1/completions", {{"prompt", "P"},
                                      {"stream", true},
                                      {"stream_options", {{"include_obfuscation", true}}}}),
            "stream_options.include_obfuscation");
  EXPECT_EQ(param("/v1/rerank", {{"query", ""}, {"documents", {"d"}}}), "query");
  EXPECT_EQ(param("/v1/score", {{"prompt", "p"}, {"continuations", {"a", ""}}}),
            "continuations[1]");
  EXPECT_EQ(param("/v1/score", {{"prompt", "P"}, {"continuations", "one"}}), "continuations");
  EXPECT_EQ(param("/v1/score", {{"prompt", "P"}}), "continuations");
  EXPECT_EQ(param("/v1/score", {{"continuations", {"one"}}}), "prompt");
  EXPECT_EQ(param("/v1/score", {{"text_1", "a"}}), "text_2");
  EXPECT_EQ(param("/v1/score", {{"text_1", {"a", "b"}}, {"text_2", "c"}}), "text_1");
  EXPECT_EQ(param("/v1/score", {{"text_1", "a"}, {"text_2", Json::array()}}), "text_2");
  EXPECT_EQ(param("/v1/score", {{"text_1", {"a", "b"}}, {"text_2", Json::array()}}), "text_2");
  EXPECT_EQ(param("/v1/score", {{"text_1", Json::array()}, {"text_2", "c"}}), "text_1");
  EXPECT_EQ(param("/v1/completions",
                  {{"prompt", "P"}, {"stream", true}, {"stream_options", {{"include_usage", 1}}}}),
            "stream_options.include_usage");
}

// A field that is misspelt is named, not the one that lacks by it.
TEST_F(Endpoints, UnknownFieldsAreNamedFirst) {
  const Json talk = {{{"role", "user"}, {"content", "Q"}}};
  for (const auto& [path, body, field] :
       {std::tuple<const char*, Json, const char*>{"/v1/completions", {{"promt", "P"}}, "promt"},
        {"/v1/chat/completions", {{"mesages", talk}}, "mesages"},
        {"/v1/embeddings", {{"inputs", "P"}}, "inputs"},
        {"/v1/answers", {{"contex", "c"}, {"questions", {"q"}}}, "contex"},
        {"/v1/answers", {{"context", "c"}, {"qestions", {"q"}}}, "qestions"},
        {"/v1/rerank", {{"qery", "q"}, {"user", {{"id", 5}}}, {"documents", {"d"}}}, "qery"},
        {"/v1/score", {{"promt", "P"}, {"continuations", {"c"}}}, "promt"},
        {"/v1/score", {{"text_1", "a"}, {"text2", "b"}}, "text2"},
        {"/tokenize", {{"promt", "P"}}, "promt"},
        {"/detokenize", {{"token", {1}}}, "token"}}) {
    const Json said = error(path, body);
    EXPECT_EQ(said["param"], field) << path << said;
    EXPECT_NE(said["message"].get<std::string>().find("is unknown"), std::string::npos) << said;
  }
}

TEST_F(Endpoints, AnAnswerOfNoTokensIsRefusedInWordsOfTheEndpoint) {
  Json body = {{"context", "c"}, {"questions", {"q"}}, {"max_tokens", 0}};
  const Json refused = error("/v1/answers", body);
  EXPECT_EQ(refused["param"], "max_tokens");
  EXPECT_EQ(refused["message"],
            "field 'max_tokens' is 0, expected at least 1, or 0 with 'prompt_logprobs'");
  body["prompt_logprobs"] = true;
  EXPECT_GT(post("/v1/answers", body)["answers"][0]["prompt_logprobs"].size(), 0u);
  body["max_tokens"] = -1;
  EXPECT_EQ(error("/v1/answers", body)["message"], "field 'max_tokens' is -1, expected at least 0");
  body.erase("prompt_logprobs");
  body["max_tokens"] = 0;
  body["choices"] = {"a", "b"};
  post("/v1/answers", body);  // nothing is generated
}

TEST_F(Endpoints, PathsThatAreNearlyServed) {
  for (const auto& [path, meant] :
       {std::pair<std::string, std::string>{"/completions", "/v1/completions"},
        {"/v1/completions/", "/v1/completions"},
        {"/chat/completions", "/v1/chat/completions"},
        {"/v1/v1/completions", "/v1/completions"},
        {"//v1/completions", "/v1/completions"},
        {"/v1/tokenize/", "/tokenize"},
        {"/v1/ready", "/ready"},
        {"/v1/models/", "/v1/models"},
        {"/models/tiny", "/v1/models/tiny"},
        {"/v1/chat/completion", "/v1/chat/completions"},
        {"/v3/completions", "/v1/completions"},
        {"/tokenise", "/tokenize"}}) {
    const Json said = client_.get(path).json()["error"];
    EXPECT_EQ(said["code"], "not_found");
    EXPECT_EQ(said["message"], "there is nothing at '" + path + "' (hint: '" + meant + "'?)");
  }
  for (const std::string path : {"/v1", "/v1/", "/docs", "/entirely/other"})
    EXPECT_EQ(client_.get(path).json()["error"]["message"],
              "there is nothing at '" + path + "', expected a path such as /v1/chat/completions");
}

TEST_F(Endpoints, ErrorsNameThePartOfAMessageToBlame) {
  const auto said = [&](const Json& message) {
    return error("/v1/chat/completions",
                 {{"messages", {{{"role", "user"}, {"content", "Q"}}, message}}});
  };
  const Json role = said({{"role", ""}, {"content", "A"}});
  EXPECT_EQ(role["param"], "messages[1].role");
  EXPECT_EQ(role["message"], "the role of message 1 is empty");
  EXPECT_EQ(said("A")["param"], "messages[1]");
  EXPECT_EQ(said({{"role", "user"}})["param"], "messages[1].content");
  EXPECT_EQ(said({{"role", "user"}, {"content", nullptr}})["param"], "messages[1].content");
  EXPECT_EQ(said({{"role", "user"}, {"content", {{{"type", "image_url"}}}}})["param"],
            "messages[1].content[0].type");
  EXPECT_EQ(said({{"role", "user"}, {"content", "A"}, {"nam", "N"}})["param"], "messages[1].nam");
}

// As OpenAI's clients send answers back.
TEST_F(Endpoints, NamesAndAnswersWithoutText) {
  Json body = {{"messages",
                {{{"role", "user"}, {"content", "Q"}},
                 {{"role", "assistant"}, {"content", ""}},
                 {{"role", "user"}, {"content", "R"}}}},
               {"max_tokens", 4},
               {"temperature", 0}};
  const Json choices = post("/v1/chat/completions", body)["choices"];
  body["messages"][0]["name"] = "somebody";
  body["messages"][1]["content"] = nullptr;
  EXPECT_EQ(post("/v1/chat/completions", body)["choices"], choices);
}

TEST_F(Endpoints, ASeedIsAnyInteger) {
  Json body = completion("Drawn.");
  body["temperature"] = 1;
  body["seed"] = -1;
  const Json drawn = post("/v1/completions", body)["choices"];
  EXPECT_EQ(post("/v1/completions", body)["choices"], drawn);
  body["seed"] = 18446744073709551615u;
  EXPECT_EQ(post("/v1/completions", body)["choices"], drawn);
  body["seed"] = 1.5;
  error("/v1/completions", body);
}

// A client never learns where the server's files are.
TEST(ModelWithoutChats, IsNamedAsClientsKnowIt) {
  const TemporaryFolder folder;
  RandomModelOptions random;
  random.out = folder.path() / "secret-place";
  random.max_positions = kTinyContext;
  ASSERT_TRUE(make_random_model(random).ok());
  const auto config = random.out / "tokenizer_config.json";
  Json json = Json::parse(std::ifstream(config));
  json.erase("chat_template");
  std::ofstream(config) << json;
  auto model = Model::load(random.out);
  ASSERT_TRUE(model.ok());
  auto engine = Engine::open(*model, tiny_options());
  ASSERT_TRUE(engine.ok());
  RunningServer server(tiny_server_options(), std::move(*engine));
  Client client(server.port());
  const Json talk = {{{"role", "user"}, {"content", "Q"}}};
  for (const auto& [path, body, param, hint] :
       {std::tuple<const char*, Json, const char*, std::string>{
            "/v1/chat/completions",
            {{"messages", talk}},
            "messages",
            "/v1/completions takes a plain prompt"},
        {"/tokenize", {{"messages", talk}}, "messages", "'prompt' takes plain text"},
        {"/v1/answers",
         {{"context", "c"}, {"questions", {"Q"}}, {"chat", true}},
         "chat",
         "without 'chat' the prompt is made from the template"}}) {
    const Answer refused = client.post(path, body);
    EXPECT_EQ(refused.status, 400);
    EXPECT_EQ(refused.json()["error"]["message"],
              "the model 'tiny' has no chat template that this server can use (hint: " + hint + ")")
        << path;
    EXPECT_EQ(refused.json()["error"]["param"], param) << path;
  }
}

TEST_F(Endpoints, TopKIsOffInEitherWriting) {
  Json body = completion("Of all.");
  body["temperature"] = 1;
  body["seed"] = 7;
  const Json choices = post("/v1/completions", body)["choices"];
  for (const int top_k : {0, -1}) {
    body["top_k"] = top_k;
    EXPECT_EQ(post("/v1/completions", body)["choices"], choices) << top_k;
  }
  body["top_k"] = -2;
  error("/v1/completions", body);
}

TEST_F(Endpoints, Deadlines) {
  Json body = completion("Due.");
  const Json choices = post("/v1/completions", body)["choices"];
  body["ttft_slo_ms"] = 12.5;
  body["tpot_slo_ms"] = 3;
  EXPECT_EQ(post("/v1/completions", body)["choices"], choices);
  body["deadline_class"] = "chat";
  EXPECT_EQ(post("/v1/completions", body)["choices"], choices);
  body["deadline_class"] = "other";
  EXPECT_EQ(error("/v1/completions", body)["message"],
            "deadline_class is 'other', expected 'chat'");
  body.erase("deadline_class");
  body["tpot_slo_ms"] = 0;
  error("/v1/completions", body);
  error("/tokenize", {{"prompt", "a"}, {"ttft_slo_ms", 1}});
}

TEST_F(Endpoints, FieldsOfOtherLinesAreUnknownToAnswers) {
  for (const char* name : {"custom_id", "url", "method"})
    EXPECT_EQ(error("/v1/answers", {{"context", "c"}, {"questions", {"q"}}, {name, "x"}})["param"],
              name);
}

TEST_F(Endpoints, WhatIsNotOfferedIsRefused) {
  Json request = completion("P");
  request["model"] = "other";
  EXPECT_EQ(error("/v1/completions", request, 404)["code"], "model_not_found");
  EXPECT_EQ(error("/v1/completions", {{"prompt", 5}})["code"], "invalid_argument");
  EXPECT_EQ(error("/v1/completions", {{"prompt", std::string(700, 'x')}})["code"],
            "context_length_exceeded");
  for (const int n : {0, -1, 2000000000})
    EXPECT_EQ(error("/v1/completions", {{"prompt", "P"}, {"n", n}})["code"], "invalid_argument");
  const int most = 1 + server_->engine().options().max_open / 2;  // for each of two prompts
  EXPECT_EQ(error("/v1/completions", {{"prompt", {"P", "Q"}}, {"n", most + 1}})["message"],
            "field 'n' is " + std::to_string(most + 1) + ", expected 1 to " + std::to_string(most) +
                " with 2 prompts");
  EXPECT_EQ(error("/v1/chat/completions", {{"messages", {{{"role", "user"}, {"content", "Q"}}}},
                                           {"tool_choice", "required"}})["message"],
            "field 'tool_choice' asks for a call, but 'tools' offers no function");
  const Json talk = {{{"role", "user"}, {"content", "Q"}}};
  EXPECT_EQ(error("/v1/completions", {{"messages", talk}})["message"],
            "field 'messages' is unknown or unsupported");
  EXPECT_EQ(error("/v1/chat/completions",
                  {{"messages", talk}, {"max_tokens", 3}, {"max_completion_tokens", 4}})["param"],
            "max_completion_tokens");
  EXPECT_EQ(error("/v1/completions", {{"prompt", "P"}, {"max_tokens", -1}})["message"],
            "field 'max_tokens' is -1, expected at least 1, or 0 with 'echo' and 'logprobs'");
  EXPECT_EQ(
      error("/v1/chat/completions", {{"messages", talk}, {"max_completion_tokens", 0}})["message"],
      "field 'max_completion_tokens' is 0, expected at least 1");
  error("/v1/answers", {{"prompt", "P"}});
  error("/v1/rerank", {{"query", "q"}});
  error("/v1/score", Json::object());
  error("/detokenize", {{"tokens", "a"}});
  error("/detokenize", {{"tokens", {1, 99'999}}});
  error("/detokenize", {{"tokens", {-1}}});
  const Answer wrong_method = client_.get("/v1/completions");
  EXPECT_EQ(wrong_method.status, 405);
  EXPECT_EQ(wrong_method.allow, "POST");
  error("/v1/other", Json::object(), 404);  // and the connection is closed: its body is not read
}

// The files of a sentence-transformers model say where texts are cut and which tokens are pooled.
TEST(Embeddings, FollowTheModelsFiles) {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  const fs::path at = folder.path() / "m";
  fs::copy(fs::path(PANDO_SOURCE_DIR) / "tests/task/data/qwen3-embedding", at,
           fs::copy_options::recursive);
  folder.write("m/1_Pooling/config.json", R"({"pooling_mode": "mean", "include_prompt": false})");
  folder.write("m/config_sentence_transformers.json",
               R"({"prompts": {"query": "Query: ", "document": ""}})");
  folder.write("m/sentence_bert_config.json", R"({"max_seq_length": 16})");
  const auto model = Model::load(at);
  ASSERT_TRUE(model.ok()) << model.error().message();
  RunningServer server(tiny_server_options(), Engine::open(*model, tiny_options()).value());
  Client client(server.port());
  const auto asked = [&](const Json& body) {
    const Answer answer = client.post("/v1/embeddings", body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.json();
  };
  const Json plain = asked({{"input", "What is it?"}}),
             query = asked({{"input", "What is it?"}, {"input_type", "query"}}),
             document = asked({{"input", "What is it?"}, {"input_type", "document"}});
  EXPECT_EQ(plain["data"], document["data"]);
  EXPECT_NE(plain["data"], query["data"]);
  EXPECT_GT(query["usage"]["prompt_tokens"], plain["usage"]["prompt_tokens"]);
  EXPECT_FALSE(plain["usage"].contains("cut_tokens"));
  EmbedOptions options;
  options.input_type = "query";
  const auto vectors = embed(server.engine(), {"What is it?"}, options);
  ASSERT_TRUE(vectors.ok());
  EXPECT_EQ(query["data"][0]["embedding"].get<std::vector<float>>(), (*vectors)[0]);

  const std::string longer = "Gravity attracts bodies with F = G m1 m2 / r^2, and so on.";
  const Json cut = asked({{"input", {longer, "x"}}});
  const int n_whole = static_cast<int>((*model)->encode(longer)->size());
  ASSERT_GT(n_whole, 16);
  EXPECT_EQ(cut["usage"]["cut_tokens"], n_whole - 16);
  const Json shorter = asked({{"input", longer}, {"truncate_prompt_tokens", 5}});
  EXPECT_EQ(shorter["usage"]["prompt_tokens"], 5);
  EXPECT_EQ(asked({{"input", longer}, {"truncate_prompt_tokens", 500}})["usage"]["prompt_tokens"],
            16);
  const Answer empty = client.post("/v1/embeddings", {{"input", ""}, {"input_type", "query"}});
  EXPECT_EQ(empty.status, 200) << empty.body;  // the vector of the end token
}

}  // namespace
}  // namespace pando::testing
