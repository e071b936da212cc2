// Every endpoint, over a connection: what they take and refuse.
#include <fstream>

#include "serve/endpoints.h"

namespace pando::testing {
namespace {

// What clients of OpenAI send though they want nothing by it.
TEST_F(Endpoints, FieldsThatChangeNothing) {
  const Json talk = {{{"role", "system"}, {"content", "Be short."}},
                     {{"role", "user"}, {"content", "Q"}}};
  Json body = {{"messages", talk}, {"max_tokens", 4}, {"temperature", 0}, {"ignore_eos", true}};
  const Json answer = post("/v1/chat/completions", body)["choices"];
  body.update({{"user", "u"},
               {"prompt_cache_key", "k"},
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
  body["messages"][0]["role"] = "developer";
  EXPECT_EQ(post("/v1/chat/completions", body)["choices"], answer);
  // An answer of the server's own is a message too.
  body["messages"].push_back(answer[0]["message"]);
  body["messages"].back().update({{"tool_calls", nullptr}, {"annotations", Json::array()}});
  body["messages"].push_back({{"role", "user"}, {"content", "And?"}});
  post("/v1/chat/completions", body);
  body["messages"][2]["tool_calls"] = {{{"id", "x"}}};
  error("/v1/chat/completions", body);
  for (const auto& [name, value] : {std::pair<const char*, Json>{"tools", {{{"type", "function"}}}},
                                    {"tool_choice", "required"},
                                    {"verbosity", "low"},
                                    {"modalities", {"text", "audio"}},
                                    {"reasoning_effort", "low"},
                                    {"parallel_tool_calls", 1}})
    EXPECT_NE(error("/v1/chat/completions", {{"messages", talk}, {name, value}})["message"]
                  .get<std::string>()
                  .find("'" + std::string(name) + "'"),
              std::string::npos);
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
  EXPECT_EQ(param("/v1/score", {{"prompt", "P"}, {"continuations", "one"}}), "continuations");
  EXPECT_EQ(param("/v1/score", {{"prompt", "P"}}), "continuations");
  EXPECT_EQ(param("/v1/score", {{"continuations", {"one"}}}), "prompt");
  EXPECT_EQ(param("/v1/score", {{"text_1", "a"}}), "text_2");
  EXPECT_EQ(param("/v1/score", {{"text_1", {"a", "b"}}, {"text_2", "c"}}), "text_1");
  EXPECT_EQ(param("/v1/score", {{"text_1", "a"}, {"text_2", Json::array()}}), "text_2");
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
    EXPECT_TRUE(said["message"].get<std::string>().starts_with("unknown")) << path << said;
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
        {"/v1/health", "/health"},
        {"/v1/models/", "/v1/models"},
        {"/models/tiny", "/v1/models/tiny"}}) {
    const Json said = client_.get(path).json()["error"];
    EXPECT_EQ(said["code"], "not_found");
    EXPECT_EQ(said["message"], "nothing is served under '" + path + "' (hint: '" + meant + "'?)");
  }
  for (const std::string path : {"/", "/v1", "/v1/", "/v2/completions", "/v1completions/x"})
    EXPECT_EQ(client_.get(path).json()["error"]["message"],
              "nothing is served under '" + path + "'");
}

TEST_F(Endpoints, ErrorsNameThePartOfAMessageToBlame) {
  const auto said = [&](const Json& message) {
    return error("/v1/chat/completions",
                 {{"messages", {{{"role", "user"}, {"content", "Q"}}, message}}});
  };
  const Json role = said({{"role", "tool"}, {"content", "A"}});
  EXPECT_EQ(role["param"], "messages[1].role");
  EXPECT_EQ(role["message"],
            "the role of message 1 is 'tool', expected system, developer, user or assistant");
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

// Where the server's files are is no affair of a client's.
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
            "/v1/completions takes a prompt as it is"},
        {"/tokenize", {{"messages", talk}}, "messages", "'prompt' takes a text as it is"},
        {"/v1/answers",
         {{"context", "c"}, {"questions", {"Q"}}, {"chat", true}},
         "chat",
         "without 'chat' the prompt is the filled template"}}) {
    const Answer refused = client.post(path, body);
    EXPECT_EQ(refused.status, 400);
    EXPECT_EQ(refused.json()["error"]["message"],
              "the model 'tiny' has no chat template that is known here (hint: " + hint + ")")
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

// A short body must not ask for more than fits a memory.
TEST_F(Endpoints, TooMuchAtOnce) {
  const Json many(20000, "a"), texts(200, std::string(2000, 'x'));
  const std::string whole(3 << 20, 'x');
  error("/v1/completions", {{"prompt", many}});
  error("/v1/embeddings", {{"input", many}});
  EXPECT_EQ(error("/v1/rerank", {{"query", "q"}, {"documents", many}})["message"],
            "field 'documents' has 20000 texts, expected at most 8192");
  error("/v1/rerank", {{"query", whole}, {"documents", texts}});
  EXPECT_EQ(error("/v1/score", {{"text_1", "q"}, {"text_2", many}})["param"], "text_2");
  EXPECT_EQ(error("/v1/score", {{"prompt", "q"}, {"continuations", many}})["param"],
            "continuations");
  error("/v1/score", {{"prompt", whole}, {"continuations", texts}});
  EXPECT_EQ(error("/v1/answers", {{"context", "c"}, {"questions", many}})["param"], "questions");
  error("/v1/answers", {{"context", whole}, {"questions", texts}});
  error("/v1/answers", {{"context", "c"}, {"questions", texts}, {"choices", texts}});
  error("/v1/answers", {{"context", "c"}, {"questions", texts}, {"stop", texts}});
  error("/v1/answers", {{"context", "c"}, {"questions", texts}, {"instruction", whole}});
  error("/v1/answers", {{"context", "c"}, {"questions", texts}, {"choices", {whole, "b"}}});
  std::string many_times = "{question}";
  for (int i = 0; i < 100; ++i) many_times += "{context}";
  error("/v1/answers", {{"context", whole}, {"questions", {"q"}}, {"template", many_times}});
  error("/v1/answers", {{"context", "c"}, {"questions", {"q"}}, {"stop_token_ids", Json(2000, 1)}});
  // What each prompt has a copy of.
  Json biases, some(4000, "a");
  for (int i = 0; i < 1000; ++i) biases[std::to_string(i)] = 1;
  const std::string message =
      error("/v1/completions", {{"prompt", some}, {"logit_bias", biases}})["message"];
  EXPECT_EQ(message,
            "fields 'logit_bias', 'stop' and 'stop_token_ids' take 64000 bytes for each of 4000 "
            "prompts, expected at most 134217728 in all");
  error("/v1/answers", {{"context", "c"}, {"questions", some}, {"logit_bias", biases}});
  error("/v1/completions", {{"prompt", "P"}, {"stop", std::string(5000, 'x')}});
  error("/v1/completions", {{"prompt", "P"}, {"stop", texts}});
  error("/v1/completions", {{"prompt", "P"}, {"logprobs", 21}});
}

// What is asked for in so many words is given or refused; what is not, is what there is room for.
TEST_F(Endpoints, AnswersBeyondTheContextAreRefused) {
  const auto prompt = [](int n) { return std::string(static_cast<size_t>(n), 'x'); };
  Json body = {{"prompt", prompt(600)}, {"max_tokens", 41}, {"ignore_eos", true}};
  const Json refused = error("/v1/completions", body);
  EXPECT_EQ(refused["code"], "context_length_exceeded");
  EXPECT_EQ(refused["message"],
            "the prompt has 600 tokens and 'max_tokens' is 41, 641 together, expected at most the "
            "context of 640 (hint: fewer, or no 'max_tokens')");
  EXPECT_EQ(refused["param"], "max_tokens");
  const Json too_long = error("/v1/completions", {{"prompt", prompt(700)}, {"max_tokens", 5}});
  EXPECT_EQ(too_long["code"], "context_length_exceeded");
  EXPECT_EQ(too_long["message"],
            "the prompt has 700 tokens; the context of 640 leaves no room for an answer");
  EXPECT_EQ(too_long["param"], "prompt");
  body["max_tokens"] = 40;
  EXPECT_EQ(post("/v1/completions", body)["usage"]["total_tokens"], 640);
  body["prompt"] = {"short", prompt(601)};  // one of several
  const Json one = error("/v1/completions", body);
  EXPECT_EQ(one["code"], "context_length_exceeded");
  EXPECT_EQ(one["param"], "max_tokens");
  EXPECT_TRUE(one["message"].get<std::string>().starts_with("prompt[1]: the prompt has 601 tokens"))
      << one;
  // Without it the answer ends with the context.
  const Json rest = {{"prompt", prompt(630)}, {"ignore_eos", true}};
  EXPECT_EQ(post("/v1/completions", rest)["usage"]["completion_tokens"], 10);
  Json talk = {{"messages", {{{"role", "user"}, {"content", prompt(500)}}}}, {"ignore_eos", true}};
  EXPECT_EQ(post("/v1/chat/completions", talk)["choices"][0]["finish_reason"], "length");
  for (const char* name : {"max_tokens", "max_completion_tokens"}) {
    Json long_talk = talk;
    long_talk[name] = 100000;
    const std::string message = error("/v1/chat/completions", long_talk)["message"];
    EXPECT_NE(message.find("'" + std::string(name) + "' is 100000"), std::string::npos) << message;
  }
  Json document = {{"context", prompt(500)}, {"questions", {"Who?"}}};
  EXPECT_EQ(post("/v1/answers", document)["answers"].size(), 1u);
  document["max_tokens"] = 200;
  EXPECT_EQ(error("/v1/answers", document)["code"], "context_length_exceeded");
  document["choices"] = {"yes", "no"};  // of which none is generated
  post("/v1/answers", document);
}

// Nobody asked for more than the memory for keys and values holds.
TEST(Endpoint, AnswersOfNoStatedLengthEndWithTheMemory) {
  EngineOptions options = tiny_options();
  options.kv_memory = size_t{256} << 10;
  RunningServer server(tiny_server_options(), options);
  const size_t room = server.engine().kv_capacity();
  ASSERT_LT(room, static_cast<size_t>(server.engine().options().context));
  Json body = {{"messages", {{{"role", "user"}, {"content", "Q"}}}}, {"ignore_eos", true}};
  const Answer answer = Client(server.port()).post("/v1/chat/completions", body);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.json()["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(answer.json()["usage"]["total_tokens"], room);
  body["max_tokens"] = room;
  const Answer refused = Client(server.port()).post("/v1/chat/completions", body);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.json()["error"]["param"], "max_tokens") << refused.body;
}

TEST_F(Endpoints, MoreAnswersThanAnyRequestMayHave) {
  for (const int n : {4097, 5000})
    EXPECT_EQ(error("/v1/completions", {{"prompt", "P"}, {"n", n}})["message"],
              "field 'n' is " + std::to_string(n) + ", expected 1 to 4096");
}

TEST_F(Endpoints, AnEmbeddingMayTakeTheWholeContext) {
  const size_t context = static_cast<size_t>(server_->engine().options().context);
  post("/v1/embeddings", {{"input", std::string(context, 'x')}});
  error("/v1/embeddings", {{"input", std::string(context + 1, 'x')}});
}

TEST_F(Endpoints, LogProbabilitiesAreBounded) {
  const Json refused = error(
      "/v1/completions",
      {{"prompt", Json(4000, Json(600, 1))}, {"echo", true}, {"logprobs", 20}, {"max_tokens", 0}});
  EXPECT_EQ(refused["param"], "logprobs");
  EXPECT_EQ(refused["message"],
            "up to 50400000 log-probabilities are asked for, expected at most 16000000 (hint: "
            "fewer tokens, answers or of each)");
}

TEST_F(Endpoints, FieldsOfOtherLinesAreUnknownToAnswers) {
  for (const char* name : {"custom_id", "url", "method"})
    EXPECT_EQ(error("/v1/answers", {{"context", "c"}, {"questions", {"q"}}, {name, "x"}})["param"],
              name);
}

TEST_F(Endpoints, WhichOfSeveralIsTooLongIsSaid) {
  const std::string whole(700, 'x'), half(350, 'x');
  const std::string three_times = "{context}{context}{context}{question}";
  for (const auto& [path, body, param] :
       {std::tuple<const char*, Json, const char*>{
            "/v1/completions", {{"prompt", {"a", "b", whole}}}, "prompt[2]"},
        {"/v1/embeddings", {{"input", {"a", whole}}}, "input[1]"},
        {"/v1/rerank", {{"query", "q"}, {"documents", {"a", "b", whole}}}, "documents[2]"},
        {"/v1/score", {{"text_1", "q"}, {"text_2", {"a", whole}}}, "text_2[1]"},
        {"/v1/score", {{"prompt", "q"}, {"continuations", {"a", whole}}}, "continuations[1]"},
        {"/v1/answers", {{"context", "c"}, {"questions", {"q", whole}}}, "questions[1]"},
        {"/v1/answers", {{"context", whole}, {"questions", {"q", "r"}}}, "context"},
        {"/v1/answers",
         {{"context", "c"}, {"questions", {"q"}}, {"instruction", whole}},
         "instruction"},
        {"/v1/answers",
         {{"context", "c"}, {"questions", {"q"}}, {"instruction", whole}, {"chat", true}},
         "instruction"},
        {"/v1/answers",
         {{"context", "c"}, {"questions", {"q"}}, {"template", whole + "{context}{question}"}},
         "template"},
        {"/v1/answers",
         {{"context", half}, {"questions", {whole}}, {"template", three_times}},
         "context"},
        {"/v1/answers",
         {{"context", "c"}, {"questions", {"q"}}, {"choices", {"a", whole}}},
         "choices[1]"},
        {"/v1/answers",
         {{"context", "c"},
          {"questions", {"q", {{"text", "r"}, {"choices", {"a", whole}}}}},
          {"choices", {"a", "b"}}},
         "questions[1].choices[1]"},
        {"/v1/rerank", {{"query", whole}, {"documents", {"a", "b"}}}, "query"},
        {"/v1/rerank",
         {{"query", "q"}, {"documents", {"a", "b"}}, {"instruction", whole}},
         "instruction"},
        {"/v1/score", {{"text_1", "q"}, {"text_2", "a"}, {"instruction", whole}}, "instruction"},
        {"/v1/score", {{"text_1", whole}, {"text_2", {"a", "b"}}}, "text_1"},
        {"/v1/score", {{"text_1", {"q", whole}}, {"text_2", {"a", "b"}}}, "text_1[1]"},
        {"/v1/score", {{"prompt", whole}, {"continuations", {"a", "b"}}}, "prompt"}}) {
    const Json refused = error(path, body);
    EXPECT_EQ(refused["code"], "context_length_exceeded") << path;
    EXPECT_EQ(refused["param"], param) << path;
    const std::string of_list =
        std::string_view(param).ends_with(']') ? fmt::format("{}: ", param) : "";
    EXPECT_TRUE(refused["message"].get<std::string>().starts_with(of_list + "the prompt has "))
        << refused;
  }
  const Json talk = {{{"role", "user"}, {"content", whole}}};
  EXPECT_EQ(error("/v1/chat/completions", {{"messages", talk}})["param"], "messages");
}

// Evaluation harnesses send prompts that fill the context.
TEST_F(Endpoints, PromptsThatFillTheContext) {
  for (const auto& [n_prompt, n_more, status] :
       {std::tuple{639, 1, 200}, {640, 0, 200}, {640, 1, 400}, {641, 0, 400}}) {
    const Json body = {{"prompt", std::string(static_cast<size_t>(n_prompt), 'x')},
                       {"max_tokens", n_more},
                       {"echo", true},
                       {"logprobs", 1}};
    const Json answer = post("/v1/completions", body, status);
    if (status == 200) {
      EXPECT_EQ(answer["choices"][0]["logprobs"]["tokens"].size(), 640u);
    } else {
      EXPECT_EQ(answer["error"]["code"], "context_length_exceeded");
    }
  }
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
  EXPECT_EQ(
      error("/v1/chat/completions", {{"messages", {{{"role", "user"}, {"content", "Q"}}}},
                                     {"tool_choice", "required"}})["message"],
      "field 'tool_choice' is \"required\", expected \"none\" or \"auto\": tools are not offered");
  const Json talk = {{{"role", "user"}, {"content", "Q"}}};
  EXPECT_EQ(error("/v1/completions", {{"messages", talk}})["message"],
            "unknown or unsupported field 'messages' (hint: /v1/chat/completions takes it)");
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

}  // namespace
}  // namespace pando::testing
