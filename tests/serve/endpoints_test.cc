// Every endpoint, over a connection: what they give.
#include "serve/endpoints.h"

#include "pando/answer.h"
#include "pando/score.h"

namespace pando::testing {
namespace {

TEST_F(Endpoints, SmallOnes) {
  EXPECT_EQ(client_.get("/health").json()["status"], "ok");
  EXPECT_EQ(client_.get("/ready").json()["status"], "ready");
  EXPECT_TRUE(client_.get("/version").json().contains("version"));
  const Json models = client_.get("/v1/models").json();
  ASSERT_EQ(models["data"].size(), 1u);
  EXPECT_EQ(models["data"][0]["id"], "tiny");
  EXPECT_EQ(client_.get("/v1/models/tiny").json()["object"], "model");
  EXPECT_EQ(client_.get("/v1/models/t%69ny").status, 200) << "as clients escape 'org/model'";
  for (const char* other : {"other", "t%69n", "tin%7", "tiny%", "tiny%zz", "tin%79%00"})
    EXPECT_EQ(client_.get(std::string("/v1/models/") + other).status, 404) << other;
  const Answer metrics = client_.get("/metrics");
  EXPECT_NE(metrics.body.find("pando_open_connections"), std::string::npos);
  EXPECT_NE(metrics.body.find("pando_steps_total"), std::string::npos);
  EXPECT_NE(metrics.body.find("\npando_requests_under_way 0\n"), std::string::npos);
}

TEST_F(Endpoints, ACompletionIsTheEnginesOwn) {
  const Json body = post("/v1/completions", completion("A prompt."));
  const auto alone = open_tiny()->complete(tiny_request("A prompt.", 6));
  EXPECT_EQ(body["object"], "text_completion");
  EXPECT_EQ(body["choices"][0]["text"], alone->at(0).text);
  EXPECT_EQ(body["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(body["usage"]["prompt_tokens"], 9);
  EXPECT_EQ(body["usage"]["completion_tokens"], 6);
  EXPECT_FALSE(body.contains("sharing"));
  // Again: from the cache, the same.
  Json again = completion("A prompt.");
  again["sharing"] = true;
  const Json cached = post("/v1/completions", again);
  EXPECT_EQ(cached["choices"], body["choices"]);
  EXPECT_GT(cached["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
  EXPECT_EQ(cached["sharing"]["prompt_tokens"], 9);
  EXPECT_EQ(cached["sharing"]["computed"].get<int>() + cached["sharing"]["reused"].get<int>(), 9);
  // With nothing shared, the same.
  again["cache"] = false;
  const Json fresh = post("/v1/completions", again);
  EXPECT_EQ(fresh["choices"], body["choices"]);
  EXPECT_EQ(fresh["sharing"]["reused"], 0);
}

TEST_F(Endpoints, AStreamSaysWhatTheWholeSays) {
  Json request = completion("Streamed or not.");
  request["logprobs"] = 2;
  request["n"] = 3;
  request["temperature"] = 1;
  request["seed"] = 5;
  const Json whole = post("/v1/completions", request);
  request["stream_options"] = {{"include_usage", true}};
  const std::vector<Json> events = stream("/v1/completions", request);
  ASSERT_EQ(whole["choices"].size(), 3u);
  std::vector<std::string> texts(3), reasons(3);
  std::vector<Json> lists(3, Json{{"tokens", Json::array()},
                                  {"token_logprobs", Json::array()},
                                  {"top_logprobs", Json::array()},
                                  {"text_offset", Json::array()}});
  for (const Json& event : events) {
    if (event["choices"].empty()) continue;
    const Json& choice = event["choices"][0];
    const size_t i = choice["index"];
    texts[i] += choice["text"].get<std::string>();
    if (!choice["finish_reason"].is_null()) reasons[i] = choice["finish_reason"];
    if (choice["logprobs"].is_null()) continue;
    for (auto& [name, list] : lists[i].items())
      for (const Json& value : choice["logprobs"][name]) list.push_back(value);
  }
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(texts[i], whole["choices"][i]["text"]);
    EXPECT_EQ(reasons[i], whole["choices"][i]["finish_reason"]);
    EXPECT_EQ(lists[i], whole["choices"][i]["logprobs"]);
  }
  EXPECT_EQ(events.back()["usage"]["completion_tokens"], whole["usage"]["completion_tokens"]);
}

TEST_F(Endpoints, AStreamBeginsWithTheFirstTokenThoughItHasNoText) {
  Json request = completion("Nothing is said.");
  request["logit_bias"] = {{"256", 1000}};  // the end, which is ignored
  const std::vector<Json> events = stream("/v1/completions", request);
  ASSERT_EQ(events.size(), 2u);
  for (const Json& event : events) EXPECT_EQ(event["choices"][0]["text"], "");
  EXPECT_EQ(events[0]["choices"][0]["finish_reason"], nullptr);
  EXPECT_EQ(events[1]["choices"][0]["finish_reason"], "length");
}

// As evaluation harnesses ask: token lists, the prompt's log-probabilities, one token more.
TEST_F(Endpoints, LogprobsOfPrompts) {
  const Json request = {{"prompt", {{97, 98, 99, 100}, {97, 98, 120}}},
                        {"echo", true},
                        {"logprobs", 1},
                        {"max_tokens", 1},
                        {"temperature", 0},
                        {"seed", 1234}};
  const Json first = post("/v1/completions", request);
  ASSERT_EQ(first["choices"].size(), 2u);
  for (const Json& choice : first["choices"]) {
    const Json& lists = choice["logprobs"];
    const size_t n = choice["index"] == 0 ? 5 : 4;
    ASSERT_EQ(lists["token_logprobs"].size(), n);
    EXPECT_EQ(lists["token_logprobs"][0], nullptr);
    EXPECT_EQ(lists["top_logprobs"][0], nullptr);
    double most = -1e9;
    for (const auto& [text, logprob] : lists["top_logprobs"][n - 1].items())
      most = std::max(most, logprob.get<double>());
    EXPECT_EQ(lists["token_logprobs"][n - 1], most);  // the drawn one is the likeliest
  }
  EXPECT_EQ(post("/v1/completions", request)["choices"], first["choices"]);  // from the cache
}

TEST_F(Endpoints, LogprobsOfAPromptOfOneToken) {
  Json request = {{"prompt", {{97}, {97, 98}}}, {"echo", true}, {"logprobs", 1}, {"max_tokens", 0}};
  const Json body = post("/v1/completions", request);
  ASSERT_EQ(body["choices"].size(), 2u) << body;
  const Json& one = body["choices"][0];
  EXPECT_EQ(one["text"], "a");
  EXPECT_EQ(one["finish_reason"], "length");
  EXPECT_EQ(one["logprobs"], Json({{"tokens", {"a"}},
                                   {"token_logprobs", Json::array({nullptr})},
                                   {"top_logprobs", Json::array({nullptr})},
                                   {"text_offset", {0}}}));
  EXPECT_EQ(body["choices"][1]["logprobs"]["tokens"], Json({"a", "b"}));
  EXPECT_EQ(body["usage"]["prompt_tokens"], 3);
  EXPECT_EQ(body["usage"]["completion_tokens"], 0);
  request["prompt"] = "a";
  EXPECT_EQ(post("/v1/completions", request)["choices"][0], one);
}

TEST_F(Endpoints, Chats) {
  Json request = {{"model", "tiny"},    {"messages", {{{"role", "user"}, {"content", "Hello?"}}}},
                  {"temperature", 0},   {"max_completion_tokens", 5},
                  {"ignore_eos", true}, {"logprobs", true},
                  {"top_logprobs", 2}};
  const Json whole = post("/v1/chat/completions", request);
  EXPECT_EQ(whole["object"], "chat.completion");
  EXPECT_EQ(whole["choices"][0]["message"]["role"], "assistant");
  ASSERT_EQ(whole["choices"][0]["logprobs"]["content"].size(), 5u);
  EXPECT_EQ(whole["choices"][0]["logprobs"]["content"][0]["top_logprobs"].size(), 2u);
  std::string text;
  Json logprobs = Json::array();
  const std::vector<Json> events = stream("/v1/chat/completions", request);
  EXPECT_EQ(events[0]["choices"][0]["delta"]["role"], "assistant");
  EXPECT_EQ(events[0]["object"], "chat.completion.chunk");
  for (const Json& event : events) {
    EXPECT_EQ(event["id"], events[0]["id"]);
    const Json& choice = event["choices"][0];
    if (choice["delta"].contains("content")) text += choice["delta"]["content"];
    if (!choice["logprobs"].is_null())
      for (const Json& token : choice["logprobs"]["content"]) logprobs.push_back(token);
  }
  EXPECT_EQ(text, whole["choices"][0]["message"]["content"]);
  EXPECT_EQ(logprobs, whole["choices"][0]["logprobs"]["content"]);
  EXPECT_EQ(events.back()["choices"][0]["finish_reason"], "length");
}

TEST_F(Endpoints, Embeddings) {
  const Json body = post("/v1/embeddings", {{"input", {"One text", "Another"}}});
  ASSERT_EQ(body["data"].size(), 2u);
  EXPECT_EQ(body["data"][1]["index"], 1);
  EXPECT_EQ(body["data"][0]["embedding"].size(), static_cast<size_t>(tiny_model()->info().d_model));
  EXPECT_EQ(post("/v1/embeddings", {{"input", "Another"}})["data"][0]["embedding"],
            body["data"][1]["embedding"]);
  EXPECT_EQ(
      post("/v1/embeddings", {{"input", "A"}, {"dimensions", 4}})["data"][0]["embedding"].size(),
      4u);
  EXPECT_TRUE(post("/v1/embeddings",
                   {{"input", "A"}, {"encoding_format", "base64"}})["data"][0]["embedding"]
                  .is_string());
}

TEST_F(Endpoints, Rankings) {
  const Json ranked = post("/v1/rerank", {{"query", "q"},
                                          {"documents", {"one", {{"text", "two"}}, "three"}},
                                          {"top_n", 2},
                                          {"return_documents", true}});
  ASSERT_EQ(ranked["results"].size(), 2u);
  EXPECT_GE(ranked["results"][0]["relevance_score"], ranked["results"][1]["relevance_score"]);
  EXPECT_TRUE(ranked["results"][0]["document"]["text"].is_string());
  const Json pairs = post("/v1/score", {{"text_1", "q"}, {"text_2", {"one", "two", "three"}}});
  ASSERT_EQ(pairs["data"].size(), 3u);
  const size_t best = ranked["results"][0]["index"];
  EXPECT_EQ(pairs["data"][best]["score"], ranked["results"][0]["relevance_score"]);
  const Json scores =
      post("/v1/score", {{"prompt", "The sky is"}, {"continuations", {" blue", " a dog"}}});
  EXPECT_LT(scores["data"][0]["score"], 0);
  EXPECT_EQ(scores["data"][1]["tokens"], 6);
}

// Neighbours of one token each are one request, which nothing but `sharing` shows.
TEST_F(Endpoints, ScoresOfSingleTokens) {
  const std::vector<std::string> texts = {"a", "b", "ab", "c"};
  const Json scores =
      post("/v1/score", {{"prompt", "The sky is"}, {"continuations", texts}, {"sharing", true}});
  ASSERT_EQ(scores["data"].size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const auto alone = score(*open_tiny(), "The sky is", {texts[i]});
    EXPECT_EQ(scores["data"][i]["score"], (*alone)[0].logprob);
    EXPECT_EQ(scores["data"][i]["tokens"], texts[i].size());
  }
  EXPECT_EQ(scores["usage"]["prompt_tokens"], 11 + 11 + 12 + 11);
  EXPECT_EQ(scores["sharing"]["prompt_tokens"], 11 + 12 + 11);
}

TEST_F(Endpoints, TokensAndBack) {
  const Json tokens = post("/tokenize", {{"prompt", "abc"}});
  EXPECT_EQ(tokens["tokens"], Json({97, 98, 99}));
  EXPECT_EQ(tokens["count"], 3);
  EXPECT_EQ(post("/detokenize", {{"tokens", {97, 98}}})["prompt"], "ab");
  const Json texts =
      post("/tokenize", {{"prompt", "a <|endoftext|>ä"}, {"return_token_strs", true}});
  EXPECT_EQ(texts["token_strs"], Json({"a", " ", "<|endoftext|>", "\uFFFD", "\uFFFD"}));
  EXPECT_GT(post("/tokenize", {{"messages", {{{"role", "user"}, {"content", "a"}}}}})["count"], 1);
}

TEST_F(Endpoints, AllAnswersOfADocument) {
  Json request = {{"context", "A document, which all questions are about."},
                  {"questions", {"Who?", {{"id", "w"}, {"text", "What?"}}, "Yes or no?"}},
                  {"max_tokens", 4},
                  {"ignore_eos", true},
                  {"sharing", true}};
  const Json whole = post("/v1/answers", request);
  ASSERT_EQ(whole["answers"].size(), 3u);
  EXPECT_EQ(whole["answers"][1]["question_id"], "w");
  EXPECT_GT(whole["sharing"]["reused"], 2 * 40);
  AnswerOptions options;
  options.sampling.max_tokens = 4;
  options.sampling.ignore_eos = true;
  const auto alone = answer(*open_tiny(), request["context"], {"Who?", "What?"}, options);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(whole["answers"][i]["text"], alone->at(i)[0].text);

  std::vector<std::string> texts(3);
  const std::vector<Json> events = stream("/v1/answers", request);
  for (const Json& event : events) {
    EXPECT_TRUE(event["id"].get<std::string>().starts_with("answers-")) << event;
    EXPECT_EQ(event["id"], events[0]["id"]);
    if (event["object"] == "answer") texts[event["index"].get<size_t>()] = event["text"];
  }
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(texts[i], whole["answers"][i]["text"]);

  request["choices"] = {"yes", "no"};
  const Json chosen = post("/v1/answers", request);
  EXPECT_EQ(chosen["answers"][2]["choice_logprobs"].size(), 2u);
}

TEST_F(Endpoints, ChoicesOfSingleTokens) {
  AnswerOptions options;
  options.prompt_template = "{context} {question} ";
  options.choices = {"x", "y", "zz", "w"};
  const Json request = {{"context", "A document."},
                        {"questions", {"Who?", "What?"}},
                        {"template", *options.prompt_template},
                        {"choices", options.choices}};
  const auto expected = answer(*open_tiny(), request["context"], {"Who?", "What?"}, options);
  const auto expect_alike = [&](const Json& found, size_t i) {
    EXPECT_EQ(found["text"], expected->at(i)[0].text);
    EXPECT_EQ(found["choice_logprobs"], Json(expected->at(i)[0].choice_logprobs));
  };
  const Json whole = post("/v1/answers", request)["answers"];
  ASSERT_EQ(whole.size(), 2u);
  for (size_t i = 0; i < 2; ++i) expect_alike(whole[i], i);
  size_t n = 0;
  for (const Json& event : stream("/v1/answers", request))
    if (event["object"] == "answer") expect_alike(event, event["index"]), ++n;
  EXPECT_EQ(n, 2u);
}

TEST_F(Endpoints, TheUsageOfAllAnswersOfADocument) {
  Json request = {{"context", "A document."}, {"questions", {"Who?", "What?"}}, {"max_tokens", 4}};
  const Json usage = post("/v1/answers", request)["usage"];
  for (const Json& event : stream("/v1/answers", request)) EXPECT_FALSE(event.contains("usage"));
  request["stream_options"] = {{"include_usage", true}};
  EXPECT_EQ(error("/v1/answers", request)["message"],
            "field 'stream_options' has no meaning unless 'stream' is true");
  const std::vector<Json> events = stream("/v1/answers", request);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events.back()["object"], "answers.end");
  for (const char* name : {"prompt_tokens", "completion_tokens", "total_tokens"})
    EXPECT_EQ(events.back()["usage"][name], usage[name]) << name;
}

TEST_F(Endpoints, NoMoreOfAChosenAnswersPromptIsCachedThanItHas) {
  const Json body = {{"context", "Which of the choices is it?"},
                     {"questions", {"This one?", "That one?"}},
                     {"choices", {"yes", "no", "perhaps"}}};
  post("/v1/answers", body);
  const Json usage = post("/v1/answers", body)["usage"];
  EXPECT_GT(usage["prompt_tokens_details"]["cached_tokens"], 0);
  EXPECT_LE(usage["prompt_tokens_details"]["cached_tokens"], usage["prompt_tokens"]);
}

}  // namespace
}  // namespace pando::testing
