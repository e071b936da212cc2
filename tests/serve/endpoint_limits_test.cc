// How much a request may ask for: of bytes and texts, of the context, of memory.
#include <fmt/format.h>

#include "serve/endpoints.h"

namespace pando::testing {
namespace {

// A short body must not ask for more than fits a memory.
TEST_F(Endpoints, TooMuchAtOnce) {
  const Json many(20000, "a"), texts(200, std::string(2000, 'x'));
  const std::string whole(3 << 20, 'x');
  const auto too_much = [&](const char* path, const Json& body) {
    EXPECT_EQ(error(path, body)["code"], "invalid_argument") << path;
  };
  too_much("/v1/completions", {{"prompt", many}});
  too_much("/v1/embeddings", {{"input", many}});
  EXPECT_EQ(error("/v1/rerank", {{"query", "q"}, {"documents", many}})["message"],
            "field 'documents' has 20000 texts, expected at most 8192");
  too_much("/v1/rerank", {{"query", whole}, {"documents", texts}});
  EXPECT_EQ(error("/v1/score", {{"text_1", "q"}, {"text_2", many}})["param"], "text_2");
  EXPECT_EQ(error("/v1/score", {{"text_1", {"q", "r"}}, {"text_2", "d"}})["message"],
            "field 'text_1' has 2 texts, expected 1, because 'text_2' has 1");
  EXPECT_EQ(error("/v1/score", {{"text_1", {"q", "r"}}, {"text_2", {"a", "b", "c"}}})["message"],
            "field 'text_1' has 2 texts, expected 1, or 3 as in 'text_2'");
  EXPECT_EQ(error("/v1/score", {{"prompt", "q"}, {"continuations", many}})["param"],
            "continuations");
  too_much("/v1/score", {{"prompt", whole}, {"continuations", texts}});
  EXPECT_EQ(error("/v1/answers", {{"context", "c"}, {"questions", many}})["param"], "questions");
  EXPECT_EQ(
      error("/v1/answers", {{"context", "c"}, {"questions", {"q"}}, {"choices", many}})["message"],
      "field 'choices' has 20000 texts, which makes 20000 for all questions, expected at most "
      "16384");
  too_much("/v1/answers", {{"context", whole}, {"questions", texts}});
  too_much("/v1/answers", {{"context", "c"}, {"questions", texts}, {"choices", texts}});
  too_much("/v1/answers", {{"context", "c"}, {"questions", texts}, {"stop", texts}});
  too_much("/v1/answers", {{"context", "c"}, {"questions", texts}, {"instruction", whole}});
  too_much("/v1/answers", {{"context", "c"}, {"questions", texts}, {"choices", {whole, "b"}}});
  std::string many_times = "{question}";
  for (int i = 0; i < 100; ++i) many_times += "{context}";
  too_much("/v1/answers", {{"context", whole}, {"questions", {"q"}}, {"template", many_times}});
  too_much("/v1/answers",
           {{"context", "c"}, {"questions", {"q"}}, {"stop_token_ids", Json(2000, 1)}});
  // Each prompt has a copy of these.
  Json biases, some(4000, "a");
  for (int i = 0; i < 1000; ++i) biases[std::to_string(i)] = 1;
  const std::string message =
      error("/v1/completions", {{"prompt", some}, {"logit_bias", biases}})["message"];
  EXPECT_EQ(message,
            "fields 'logit_bias', 'stop' and 'stop_token_ids' take 64000 bytes for each of 4000 "
            "prompts, expected at most 134217728 in total");
  too_much("/v1/answers", {{"context", "c"}, {"questions", some}, {"logit_bias", biases}});
  too_much("/v1/completions", {{"prompt", "P"}, {"stop", std::string(5000, 'x')}});
  too_much("/v1/completions", {{"prompt", "P"}, {"stop", texts}});
  too_much("/v1/completions", {{"prompt", "P"}, {"logprobs", 21}});
}

// A length that is asked for is given or refused; one that is not is what there is room for.
TEST_F(Endpoints, AnswersBeyondTheContextAreRefused) {
  const auto prompt = [](int n) { return std::string(static_cast<size_t>(n), 'x'); };
  Json body = {{"prompt", prompt(600)}, {"max_tokens", 41}, {"ignore_eos", true}};
  const Json refused = error("/v1/completions", body);
  EXPECT_EQ(refused["code"], "context_length_exceeded");
  EXPECT_EQ(refused["message"],
            "the prompt has 600 tokens and 'max_tokens' is 41, 641 together; this model's maximum "
            "context length is 640 tokens (hint: lower 'max_tokens' or remove it)");
  EXPECT_EQ(refused["param"], "max_tokens");
  const Json too_long = error("/v1/completions", {{"prompt", prompt(700)}, {"max_tokens", 5}});
  EXPECT_EQ(too_long["code"], "context_length_exceeded");
  EXPECT_EQ(too_long["message"],
            "the prompt has 700 tokens and needs room for an answer; this model's maximum context "
            "length is 640 tokens");
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
  const std::string message = refused.json()["error"]["message"];
  EXPECT_TRUE(message.ends_with("; this model's maximum context length is " + std::to_string(room) +
                                " tokens here"))
      << message;
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
            "the request asks for up to 50400000 log-probabilities, expected at most 16000000 "
            "(hint: ask for fewer tokens, answers or log-probabilities per token)");
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
        {"/v1/score", {{"prompt", "q"}, {"continuations", {"a", "b", whole}}}, "continuations[2]"},
        {"/v1/answers",
         {{"context", "c"},
          {"questions", {"q"}},
          {"template", "{context}{question} "},
          {"choices", {"a", "b", whole}}},
         "choices[2]"},
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

}  // namespace
}  // namespace pando::testing
