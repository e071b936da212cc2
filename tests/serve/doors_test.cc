// Paths, fields and forms by which clients of other servers ask.
#include <cmath>

#include "base/json.h"
#include "serve/endpoints.h"

namespace pando::testing {
namespace {

const Json kTalk = {{{"role", "user"}, {"content", "Q"}}};

TEST_F(Endpoints, FieldsThatAreNullAskForNothing) {
  Json body = completion("P");
  const Json answer = post("/v1/completions", body)["choices"];
  for (const char* name : {"best_of",
                           "echo",
                           "frequency_penalty",
                           "logit_bias",
                           "logprobs",
                           "n",
                           "presence_penalty",
                           "seed",
                           "stop",
                           "stream",
                           "stream_options",
                           "suffix",
                           "top_p",
                           "user",
                           "top_k",
                           "min_p",
                           "min_tokens",
                           "stop_token_ids",
                           "repetition_penalty",
                           "response_format",
                           "guided_json",
                           "cache",
                           "sharing",
                           "deadline_class",
                           "ttft_slo_ms",
                           "tpot_slo_ms",
                           "public_prefix",
                           "priority",
                           "truncate_prompt_tokens",
                           "add_special_tokens",
                           "skip_special_tokens",
                           "unheard_of"})
    body[name] = nullptr;
  EXPECT_EQ(post("/v1/completions", body)["choices"], answer);
  Json chat = {{"messages", kTalk}, {"max_completion_tokens", 3}, {"ignore_eos", true}};
  const Json said = post("/v1/chat/completions", chat)["choices"];
  for (const char* name : {"audio",
                           "frequency_penalty",
                           "function_call",
                           "functions",
                           "logit_bias",
                           "logprobs",
                           "max_tokens",
                           "metadata",
                           "modalities",
                           "n",
                           "parallel_tool_calls",
                           "prediction",
                           "presence_penalty",
                           "reasoning_effort",
                           "response_format",
                           "seed",
                           "service_tier",
                           "stop",
                           "store",
                           "stream",
                           "stream_options",
                           "temperature",
                           "tool_choice",
                           "tools",
                           "top_logprobs",
                           "top_p",
                           "user",
                           "verbosity",
                           "web_search_options",
                           "chat_template_kwargs",
                           "documents",
                           "continue_final_message",
                           "add_generation_prompt"})
    chat[name] = nullptr;
  chat["messages"][0].update({{"name", nullptr}, {"tool_calls", nullptr}, {"type", nullptr}});
  EXPECT_EQ(post("/v1/chat/completions", chat)["choices"][0]["message"].size(),
            said[0]["message"].size());
  Json vector = {{"input", "P"}};
  const Json values = post("/v1/embeddings", vector)["data"];
  for (const char* name : {"encoding_format", "dimensions", "user", "input_type", "truncate",
                           "normalize", "model", "truncate_prompt_tokens"})
    vector[name] = nullptr;
  EXPECT_EQ(post("/v1/embeddings", vector)["data"], values);
  Json ranking = {{"query", "q"}, {"documents", {"a", "b"}}};
  const Json results = post("/v1/rerank", ranking)["results"];
  for (const char* name : {"top_n", "return_documents", "rank_fields", "max_tokens_per_doc",
                           "instruction", "truncate", "max_chunks_per_doc"})
    ranking[name] = nullptr;
  EXPECT_EQ(post("/v1/rerank", ranking)["results"], results);
}

TEST_F(Endpoints, OnlyTextsAreRead) {
  const Json image = {{"type", "image_url"}, {"image_url", {{"url", "data:"}}}};
  const Json text = {{"type", "text"}, {"text", "See"}};
  const Json message = {{"role", "user"}, {"content", Json::array({text, image})}};
  const std::string ending = " has an image ('image_url'), but Pando reads only text";
  for (const char* path : {"/v1/chat/completions", "/tokenize"}) {
    const Json said = error(path, {{"messages", Json::array({message})}});
    EXPECT_EQ(said["message"], "message 0" + ending) << path;
    EXPECT_EQ(said["param"], "messages[0].content[1].type") << path;
  }
  EXPECT_EQ(error("/v1/embeddings", {{"input", Json::array({image})}})["message"],
            "'input[0]'" + ending);
  EXPECT_EQ(error("/v1/embeddings", {{"input", image}})["message"], "'input'" + ending);
  const Json ranked =
      error("/v1/rerank", {{"query", "q"}, {"documents", Json::array({"a", image})}});
  EXPECT_EQ(ranked["message"], "document 1" + ending);
  EXPECT_EQ(ranked["param"], "documents[1].type");
  // A field beside the text is the client's own.
  const Json document = {{"text", "a"}, {"image_url", "u"}};
  post("/v1/rerank", {{"query", "q"}, {"documents", Json::array({document})}});
}

TEST_F(Endpoints, WholeNumbersMayHaveAPoint) {
  const Json answer = post("/v1/completions", completion("P"))["choices"];
  Json body = completion("P");
  body.update({{"max_tokens", 6.0}, {"n", 1.0}, {"seed", 7.0}, {"top_k", 0.0}});
  EXPECT_EQ(post("/v1/completions", body)["choices"], answer);
  body["prompt"] = {80.0};
  EXPECT_EQ(post("/v1/completions", body)["choices"], answer);
  body["max_tokens"] = 6.5;
  EXPECT_EQ(error("/v1/completions", body)["param"], "max_tokens");
  body["max_tokens"] = 1e300;
  EXPECT_EQ(error("/v1/completions", body)["param"], "max_tokens");
}

TEST_F(Endpoints, TopPOfZeroKeepsTheLikeliest) {
  const Json likeliest = post("/v1/completions", completion("P"))["choices"];
  Json body = completion("P");
  body.update({{"temperature", 1}, {"top_p", 0}});
  EXPECT_EQ(post("/v1/completions", body)["choices"], likeliest);
}

// Neither tools nor schemas are printed and parsed again; a schema that is a text is parsed once.
TEST_F(Endpoints, ABodyIsParsedOnce) {
  const auto n_parsed = [&](const char* path, const Json& body) {
    const uint64_t before = n_parsed_json();
    post(path, body);
    return n_parsed_json() - before;
  };
  const Json schema = {{"type", "object"},
                       {"properties", {{"b", {{"const", 1}}}}},
                       {"required", {"b"}},
                       {"additionalProperties", false}};
  EXPECT_EQ(n_parsed("/v1/answers",
                     {{"context", "C"}, {"questions", {"Q", {{"text", "R"}, {"schema", schema}}}}}),
            1u);
  EXPECT_EQ(n_parsed("/v1/rerank", {{"query", "q"},
                                    {"documents", {"a", {{"text", "b"}, {"n", 1}}}},
                                    {"return_documents", true}}),
            1u);
  EXPECT_EQ(n_parsed("/tokenize", {{"messages",
                                    {{{"role", "user"},
                                      {"content", {{{"type", "text"}, {"text", "a"}}}},
                                      {"name", "n"}}}}}),
            1u);
  Json body = completion("P");
  body["guided_json"] = schema;
  EXPECT_EQ(n_parsed("/v1/completions", body), 1u);
  body["guided_json"] = schema.dump(1);
  EXPECT_EQ(n_parsed("/v1/completions", body), 2u);
}

TEST_F(Endpoints, NulBytesAreNoEndOfABody) {
  const std::string body = completion("P").dump();
  using namespace std::string_literals;
  for (const std::string& wrong : {body + "\0"s, body + "\0{}"s, "\0"s + body}) {
    const Answer answer = client_.ask("POST", "/v1/completions", wrong);
    EXPECT_EQ(answer.status, 400);
    EXPECT_NE(answer.body.find("is NUL"), std::string::npos) << answer.body;
  }
}

TEST_F(Endpoints, MessagesMaySayThatTheyAreTexts) {
  Json typed = kTalk;
  typed[0]["type"] = "text";
  const auto tokens = [&](const Json& messages) {
    return post("/tokenize", {{"messages", messages}})["tokens"];
  };
  EXPECT_EQ(tokens(typed), tokens(kTalk));
  typed[0]["type"] = "image_url";
  error("/tokenize", {{"messages", typed}});
}

TEST_F(Endpoints, AnAnswerGoesOnWithTheLastMessage) {
  const Json talk = {{{"role", "user"}, {"content", "Q"}},
                     {{"role", "assistant"}, {"content", "The answer is"}}};
  const auto text = [&](Json body) {
    body["messages"] = talk;
    return post("/detokenize", {{"tokens", post("/tokenize", body)["tokens"]}})["prompt"]
        .get<std::string>();
  };
  EXPECT_TRUE(text({{"continue_final_message", true}}).ends_with("The answer is"));
  EXPECT_FALSE(text({}).ends_with("The answer is"));
  EXPECT_FALSE(text({{"add_generation_prompt", false}}).ends_with("The answer is"));
  post("/v1/chat/completions", {{"messages", talk},
                                {"max_tokens", 2},
                                {"continue_final_message", true},
                                {"add_generation_prompt", false}});
  EXPECT_EQ(error("/v1/chat/completions", {{"messages", talk},
                                           {"continue_final_message", true},
                                           {"add_generation_prompt", true}})["param"],
            "continue_final_message");
}

TEST_F(Endpoints, PromptsAreCutWhereThatIsAsked) {
  Json body = completion("abcdef");
  body["truncate_prompt_tokens"] = 3;
  const Json cut = post("/v1/completions", body);
  EXPECT_EQ(cut["usage"]["prompt_tokens"], 3);
  EXPECT_EQ(cut["choices"], post("/v1/completions", completion("def"))["choices"]);
  Json echo = body;
  echo.update({{"echo", true}, {"logprobs", 1}});
  const Json echoed = post("/v1/completions", echo)["choices"][0];
  EXPECT_TRUE(echoed["text"].get<std::string>().starts_with("def"));
  EXPECT_EQ(echoed["logprobs"]["tokens"][0], "d");
  body["prompt"] = std::string(700, 'x');
  body["truncate_prompt_tokens"] = -1;
  EXPECT_EQ(post("/v1/completions", body)["usage"]["prompt_tokens"], 640 - 6);
  body["truncate_prompt_tokens"] = 0;
  EXPECT_EQ(error("/v1/completions", body)["param"], "truncate_prompt_tokens");
  const auto vector = [&](const Json& asked) {
    return post("/v1/embeddings", asked)["data"][0]["embedding"];
  };
  EXPECT_EQ(vector({{"input", "abcdef"}, {"truncate_prompt_tokens", 3}}),
            vector({{"input", "def"}}));
  EXPECT_EQ(vector({{"input", "abcdef"}, {"truncate", "NONE"}, {"truncate_prompt_tokens", 3}}),
            vector({{"input", "def"}}));
  const Json end = vector({{"input", "abc"}});
  EXPECT_EQ(vector({{"input", "abcdef"}, {"truncate", "END"}, {"truncate_prompt_tokens", 3}}), end);
  const std::string whole(640, 'y');
  EXPECT_EQ(vector({{"input", whole + "zzz"}, {"truncate", true}}), vector({{"input", whole}}));
  EXPECT_EQ(vector({{"input", "zzz" + whole}, {"truncate", "START"}}), vector({{"input", whole}}));
  error("/v1/embeddings", {{"input", whole + "zzz"}, {"truncate", "NONE"}});
}

TEST_F(Endpoints, EmbeddingsHaveAnIdAndMayBeAsTheyAre) {
  const Json body = post("/v1/embeddings", {{"input", "P"}});
  EXPECT_TRUE(body["id"].get<std::string>().starts_with("embd-"));
  EXPECT_GT(body["created"], 0);
  const auto length = [&](bool normalise) {
    double sum = 0;
    const Json data = post("/v1/embeddings", {{"input", "P"}, {"normalize", normalise}})["data"];
    for (const double value : data[0]["embedding"]) sum += value * value;
    return sum;
  };
  EXPECT_NEAR(length(true), 1, 1e-5);
  EXPECT_GT(std::abs(length(false) - 1), 1e-3);
}

TEST_F(Endpoints, RankingsInTheFormsOfOthers) {
  const Json ranking = {{"query", "q"}, {"documents", {"a", "b"}}};
  const Json results = post("/v1/rerank", ranking)["results"];
  EXPECT_EQ(post("/rerank", ranking)["results"], results);
  for (const Json& result : results) {
    EXPECT_GT(result["mass"].get<double>(), 0) << result;
    EXPECT_LE(result["mass"].get<double>(), 1) << result;
  }
  const Json cohere = post("/v2/rerank", ranking);
  EXPECT_EQ(cohere["results"], results);
  EXPECT_EQ(cohere["meta"]["api_version"]["version"], "2");
  const Json list = post("/rerank", {{"query", "q"}, {"texts", {"a", "b"}}, {"return_text", true}});
  ASSERT_EQ(list.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(list[i]["index"], results[i]["index"]);
    EXPECT_EQ(list[i]["score"], results[i]["relevance_score"]);
    EXPECT_EQ(list[i]["text"], list[i]["index"] == 0 ? "a" : "b");
  }
  EXPECT_EQ(post("/rerank", {{"query", "q"},
                             {"texts", {"a", "b"}},
                             {"documents", nullptr},
                             {"cache_prompt", false},
                             {"top_n", 1}})
                .size(),
            1u);
  const double p = list[0]["score"];
  EXPECT_NEAR(
      post("/rerank", {{"query", "q"}, {"texts", {"a", "b"}}, {"raw_scores", true}})[0]["score"]
          .get<double>(),
      std::log(p / (1 - p)), 1e-6);
  const Json with_ids = {{{"text", "a"}, {"id", "d1"}}, {{"title", "T"}, {"text", "b"}}};
  const Json returned =
      post("/v1/rerank",
           {{"query", "q"}, {"documents", with_ids}, {"return_documents", true}})["results"];
  for (const Json& one : returned) {
    EXPECT_EQ(one["document"], with_ids[one["index"].get<size_t>()]);
    EXPECT_EQ(one["relevance_score"],
              results[one["index"] == results[0]["index"] ? 0 : 1]["relevance_score"]);
  }
  EXPECT_EQ(error("/v1/rerank", {{"query", "q"}, {"documents", {{{"title", "T"}}}}})["param"],
            "documents[0]");
  EXPECT_EQ(error("/v1/rerank",
                  {{"query", "q"}, {"documents", {"a"}}, {"rank_fields", {"title"}}})["param"],
            "rank_fields");
  EXPECT_EQ(error("/v2/rerank", {{"query", "q"}, {"texts", {"a"}}})["param"], "texts");
}

TEST_F(Endpoints, DocumentsAreCutWhereThatIsAsked) {
  const auto score = [&](const std::string& text, const Json& more) {
    Json body = {{"query", "q"}, {"documents", {text}}};
    body.update(more);
    return post("/v1/rerank", body)["results"][0]["relevance_score"];
  };
  EXPECT_EQ(score("abcdef", {{"max_tokens_per_doc", 3}}), score("abc", Json::object()));
  EXPECT_EQ(score("abc", {{"query", "qrstuv"}, {"max_tokens_per_query", 2}}),
            score("abc", {{"query", "qr"}}));
  EXPECT_NE(score("abc", {{"query", "qrstuv"}}), score("abc", {{"query", "qr"}}));
  EXPECT_EQ(error("/v1/rerank",
                  {{"query", "q"}, {"documents", {"a"}}, {"max_tokens_per_query", 0}})["param"],
            "max_tokens_per_query");
  const std::string whole(900, 'y');
  error("/v1/rerank", {{"query", "q"}, {"documents", {whole}}});
  const Json all = post("/rerank", {{"query", "q"}, {"texts", {whole}}, {"truncate", true}});
  EXPECT_EQ(all.size(), 1u);
}

TEST_F(Endpoints, StreamsMaySayWhatWasUsedSoFar) {
  Json body = completion("P");
  body["stream_options"] = {{"include_usage", true}, {"continuous_usage_stats", true}};
  const std::vector<Json> events = stream("/v1/completions", body);
  ASSERT_EQ(events.size(), 7u);
  for (size_t i = 0; i < 6; ++i)
    EXPECT_EQ(events[i]["usage"]["completion_tokens"], i + 1) << events[i];
  for (const Json& event : events) EXPECT_EQ(event["usage"]["prompt_tokens"], 1) << event;
  EXPECT_EQ(events.back()["usage"]["completion_tokens"], 6);
}

// The text ends before the stop text, and so do its tokens.
TEST_F(Endpoints, LogprobsEndWithTheText) {
  Json body = completion("P");
  body.update({{"max_tokens", 12}, {"logprobs", 1}});
  const Json whole = post("/v1/completions", body)["choices"][0]["logprobs"];
  // The byte tokenizer has a token that appears for the first time: it stops the answer there.
  size_t at = 2;
  const auto seen = [&](size_t n) {
    for (size_t i = 0; i < n; ++i)
      if (whole["tokens"][i] == whole["tokens"][n]) return true;
    return whole["tokens"][n].get<std::string>().size() != 1;
  };
  while (at < 12 && seen(at)) ++at;
  if (at == 12) GTEST_SKIP() << "the model repeats itself";
  body["stop"] = whole["tokens"][at];
  const Json cut = post("/v1/completions", body)["choices"][0];
  EXPECT_EQ(cut["finish_reason"], "stop");
  ASSERT_EQ(cut["logprobs"]["tokens"].size(), at) << cut;
  Json told = Json::array();
  for (const Json& event : stream("/v1/completions", body))
    if (!event["choices"].empty() && !event["choices"][0]["logprobs"].is_null())
      for (const Json& token : event["choices"][0]["logprobs"]["tokens"]) told.push_back(token);
  EXPECT_EQ(told, cut["logprobs"]["tokens"]);
}

TEST_F(Endpoints, OtherPathsOfHealth) {
  for (const char* path : {"/health", "/v1/health", "/ping"})
    EXPECT_EQ(client_.get(path).status, 200) << path;
}

TEST(Doors, AModelMayHaveSeveralNames) {
  serve::ServerOptions options = tiny_server_options();
  options.model_names = {"tiny", "also tiny"};
  RunningServer server(options);
  Client client(server.port());
  Json body = completion("P");
  body["model"] = "also tiny";
  EXPECT_EQ(client.post("/v1/completions", body).json()["model"], "tiny");
  EXPECT_EQ(client.get("/v1/models").json()["data"].size(), 2u);
  EXPECT_EQ(client.get("/v1/models/also%20tiny").json()["id"], "also tiny");
  body["model"] = "third";
  EXPECT_EQ(client.post("/v1/completions", body).status, 404);
}

// A browser asks this before a page's request, and sees this with the answer.
TEST(Doors, PagesOfAllowedOrigins) {
  serve::ServerOptions options = tiny_server_options();
  options.cors_origins = {"https://a.example"};
  options.api_keys = {"a-key-of-the-tests"};
  RunningServer server(options);
  const auto ask = [&](const std::string& text) {
    Client client(server.port());
    client.send(text);
    return client.read_all();
  };
  const auto preflight = [&](const std::string& origin) {
    return ask(
        "OPTIONS /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: "
        "close\r\nOrigin: " +
        origin +
        "\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: "
        "authorization,content-type,x-api-key,anthropic-version\r\n\r\n");
  };
  const std::string allowed = preflight("https://a.example");
  EXPECT_TRUE(allowed.starts_with("HTTP/1.1 204 ")) << allowed;
  for (const char* line :
       {"Access-Control-Allow-Origin: https://a.example\r\n", "Vary: Origin\r\n",
        "Access-Control-Allow-Headers: authorization,content-type,x-api-key,anthropic-version\r\n",
        "Date: "})
    EXPECT_NE(allowed.find(line), std::string::npos) << line << allowed;
  const std::string refused = preflight("https://b.example");
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 403 ")) << refused;
  EXPECT_EQ(refused.find("Access-Control-Allow-Origin"), std::string::npos);
  const std::string answer =
      ask(post_text("/v1/completions", completion("P").dump(),
                    "Connection: close\r\nOrigin: https://a.example\r\nAuthorization: Bearer "
                    "a-key-of-the-tests\r\n"));
  EXPECT_NE(answer.find("Access-Control-Allow-Origin: https://a.example\r\n"), std::string::npos);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 ")) << answer;
  // An error is the page's to read too.
  EXPECT_NE(
      ask(post_text("/v1/completions", "{}", "Connection: close\r\nOrigin: https://a.example\r\n"))
          .find("Access-Control-Allow-Origin"),
      std::string::npos);
}

}  // namespace
}  // namespace pando::testing
