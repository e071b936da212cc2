// Bodies of text-generation-inference and text-embeddings-inference, and their answers.
#include "api/prompt.h"
#include "ask/body_checks.h"
#include "ask/door_testing.h"
#include "ask/tei_body.h"
#include "ask/tgi_body.h"
#include "model/test_files.h"
#include "model/vector_steps.h"
#include "pando/embed.h"
#include "task/bge_m3.h"

namespace pando::ask {
namespace {

class Tgi : public Doors {};
class Tei : public Doors {
 protected:
  static Json parsed(const Json& answer) { return Json::parse(json_text(answer)); }
};

const HttpError kFull{429, "rate_limit_error", "queue_full", "the queue is full"};
const HttpError kWrong{400, "invalid_request_error", "invalid_argument", "no", "inputs"};

TEST_F(Tgi, FieldsGetTheirNames) {
  const auto made = body(read_tgi_body, R"({"inputs": "P", "parameters": {"max_new_tokens": 7,
      "stop": ["x"], "top_k": 3, "repetition_penalty": 1.5, "seed": 9, "truncate": 4,
      "watermark": false, "best_of": 1, "top_p": null, "details": true}})");
  const Request& request = made->requests[0];
  EXPECT_EQ(request.prompt, "P");
  EXPECT_EQ(request.sampling.max_tokens, 7);
  EXPECT_EQ(request.sampling.stop, std::vector<std::string>{"x"});
  EXPECT_EQ(request.sampling.top_k, 3);
  EXPECT_EQ(request.sampling.repetition_penalty, 1.5);
  EXPECT_EQ(request.sampling.seed, 9u);
  EXPECT_EQ(request.truncate_prompt_tokens, 4);
  EXPECT_TRUE(request.sampling.logprobs);
  EXPECT_FALSE(made->stream);
}

TEST_F(Tgi, TheLikeliestTokenIsTakenUnlessAParameterAsksForSampling) {
  const auto temperature = [&](const char* json) {
    return body(read_tgi_body, json)->requests[0].sampling.temperature;
  };
  EXPECT_EQ(temperature(R"({"inputs": "P"})"), 0);
  EXPECT_EQ(body(read_tgi_body, R"({"inputs": "P"})")->requests[0].sampling.max_tokens, 100);
  EXPECT_EQ(temperature(R"({"inputs": "P", "parameters": {"do_sample": false, "top_p": 1.0,
                            "temperature": 1}})"),
            0);
  EXPECT_EQ(temperature(R"({"inputs": "P", "parameters": {"do_sample": true}})"), 1);
  EXPECT_EQ(temperature(R"({"inputs": "P", "parameters": {"temperature": 0.8}})"), 0.8);
  EXPECT_EQ(temperature(R"({"inputs": "P", "parameters": {"top_k": 5}})"), 1);
}

TEST_F(Tgi, GrammarsAreForms) {
  const auto form = [&](const char* grammar) {
    const std::string json =
        R"({"inputs": "P", "parameters": {"grammar": )" + std::string(grammar) + "}}";
    return body(read_tgi_body, json.c_str())->requests[0].sampling.form->kind;
  };
  EXPECT_EQ(form(R"({"type": "regex", "value": "a+"})"), TextForm::Kind::kRegex);
  EXPECT_EQ(form(R"({"type": "json", "value": {"type": "object"}})"), TextForm::Kind::kJsonSchema);
  EXPECT_EQ(
      form(R"({"type": "json_schema", "value": {"name": "n", "schema": {"type": "object"}}})"),
      TextForm::Kind::kJsonSchema);
  EXPECT_EQ(blamed(read_tgi_body, R"({"inputs": "P", "parameters": {"grammar": {"type": "x"}}})"),
            "parameters.grammar");
}

TEST_F(Tgi, ErrorsNameTheFieldsOfTheBody) {
  EXPECT_EQ(blamed(read_tgi_body, R"({"parameters": {}})"), "inputs");
  EXPECT_EQ(error(read_tgi_body, "{}").message(), "the body has no 'inputs'");
  EXPECT_EQ(blamed(read_tgi_body, R"({"inputs": ["a", "b"]})"), "inputs");
  EXPECT_EQ(blamed(read_tgi_body, R"({"inputs": "P", "parameters": {"max_new_tokens": 0}})"),
            "parameters.max_new_tokens");
  EXPECT_EQ(blamed(read_tgi_body, R"({"inputs": "P", "parameters": {"best_of": 2}})"),
            "parameters.best_of");
  EXPECT_EQ(blamed(read_tgi_body, R"({"inputs": "P", "parameters": {"typical_p": {}}})"),
            "parameters.typical_p");
  EXPECT_EQ(blamed(read_tgi_body, R"({"inputs": "P", "parameters": {"mood": 1}})"),
            "parameters.mood");
  EXPECT_EQ(blamed(read_tgi_body, R"({"inputs": "P", "parameters": 5})"), "parameters");
  EXPECT_EQ(blamed(read_tgi_body, R"({"inputs": "P", "mood": 1})"), "mood");
  EXPECT_EQ(blamed(read_tgi_body, R"({"inputs": "P", "stream": {}})"), "stream");
  EXPECT_EQ(blamed(read_tgi_stream_body, R"({"inputs": "P", "stream": 1})"), "stream");
  EXPECT_EQ(json_text(kTgiErrors.body(kFull)),
            R"({"error":"the queue is full","error_type":"overloaded"})");
  EXPECT_EQ(kTgiErrors.last_events(kWrong),
            "data: {\"error\":\"no\",\"error_type\":\"validation\"}\n\n");
}

TEST_F(Tgi, AnAnswerHasItsStopText) {
  Completion completion = said_hi();
  completion.stop_text = "!";
  const auto made = body(read_tgi_body, R"({"inputs": "P", "parameters": {"details": true}})");
  EXPECT_EQ(json_text(answered(*made, {completion})),
            R"({"generated_text":"Hi!","details":{"finish_reason":"stop_sequence",)"
            R"("generated_tokens":3,"seed":null,"prefill":[],"tokens":[)"
            R"({"id":72,"text":"H","logprob":-0.5,"special":false},)"
            R"({"id":105,"text":"i","logprob":-1.0,"special":false},)"
            R"({"id":10,"text":"\n","logprob":-2.0,"special":false}]}})");
  const auto list = body(read_inference_body, R"({"inputs": "P", "parameters":
                                                  {"return_full_text": true}})");
  EXPECT_EQ(json_text(answered(*list, {said_hi()})), R"([{"generated_text":"PHi"}])");
}

// LangChain sends these values if its caller sets none.
TEST_F(Tgi, AnOptionWithoutEffectIsToldInTheAnswer) {
  const auto made = body(read_inference_body, R"({"inputs": "P", "stream": false, "parameters":
      {"max_new_tokens": 512, "top_k": null, "top_p": 0.95, "typical_p": 0.95, "temperature": 0.8,
       "repetition_penalty": null, "return_full_text": false, "truncate": null, "stop": [],
       "seed": null, "do_sample": false, "watermark": false}})");
  EXPECT_EQ(made->requests[0].sampling.temperature, 0.8);
  EXPECT_EQ(json_text(answered(*made, {said_hi()})),
            R"([{"generated_text":"Hi","warnings":["parameters.typical_p: has no effect"]}])");
}

TEST_F(Tgi, AStreamHasAnEventForEachToken) {
  const auto made = body(read_tgi_stream_body, R"({"inputs": "P"})");
  EXPECT_TRUE(made->stream);
  const Completion completion = said_hi();
  const std::string events =
      streamed(*made, {{.text = "H", .logprob = completion.logprobs[0]},
                       {.text = "", .logprob = completion.logprobs[1]},
                       {.text = "i", .logprob = completion.logprobs[2], .completion = completion}});
  EXPECT_EQ(events,
            R"(data: {"index":1,"token":{"id":72,"text":"H","logprob":-0.5,"special":false},)"
            R"("generated_text":null,"details":null})"
            "\n\n"
            R"(data: {"index":2,"token":{"id":105,"text":"","logprob":-1.0,"special":false},)"
            R"("generated_text":null,"details":null})"
            "\n\n"
            R"(data: {"index":3,"token":{"id":10,"text":"i","logprob":-2.0,"special":false},)"
            R"("generated_text":"Hi","details":{"finish_reason":"eos_token","generated_tokens":3,)"
            R"("seed":null,"input_length":5}})"
            "\n\n");
}

TEST_F(Tgi, OnePathTakesBothApis) {
  EXPECT_EQ(body(read_inference_body, R"({"inputs": ["a", "b"]})")->requests.size(), 2u);
  EXPECT_EQ(body(read_inference_body, R"({"inputs": ["a"]})")->requests[0].pooling, Pooling::kLast);
  EXPECT_EQ(body(read_inference_body, R"({"inputs": "a"})")->requests[0].pooling, Pooling::kNone);
  EXPECT_EQ(body(read_inference_body, R"({"inputs": "a", "normalize": true})")->requests[0].pooling,
            Pooling::kLast);
  EXPECT_TRUE(body(read_inference_body, R"({"inputs": "a", "stream": true})")->stream);
}

TEST_F(Tei, VectorsComeInAList) {
  const auto made =
      body(read_tei_body, R"({"inputs": ["a", "b"], "normalize": false, "truncate": false})");
  ASSERT_EQ(made->requests.size(), 2u);
  EXPECT_EQ(made->place(1), "inputs[1]");
  EXPECT_EQ(json_text(answered(*made, {{.embedding = {1, 2}}, {.embedding = {3, 0.5}}})),
            "[[1.0,2.0],[3.0,0.5]]");
}

// Hidden states stay as they are, unless a head makes vectors of them.
TEST_F(Tei, TokensHaveVectors) {
  const auto plain = body(read_tei_tokens_body, R"({"inputs": "ab"})");
  EXPECT_EQ(plain->requests[0].pooling, Pooling::kRows);
  const auto d_model = static_cast<size_t>(testing::tiny_model()->info().d_model);
  using Texts = std::vector<std::vector<std::vector<float>>>;
  const std::vector<float> row(d_model, 3), rows(2 * d_model, 3);
  EXPECT_EQ(parsed(answered(*plain, {{.embedding = rows}})).get<Texts>(), (Texts{{row, row}}));
  const TemporaryFolder folder;
  testing::copy_bge_m3(folder.path() / "m");
  const auto model = Model::load(folder.path() / "m", {.threads = 1}).value();
  const EmbedOptions options = embed_options_for(*model, {.output = EmbedOutput::kTokens}).value();
  const auto headed = read(read_tei_tokens_body, R"({"inputs": ["a page"]})", *model);
  ASSERT_TRUE(headed.ok()) << headed.error().message();
  const Completion two{.embedding = std::vector<float>(64, 0.5F), .prompt_tokens = 2};
  const auto vectors = token_vectors_of(two, options);
  ASSERT_EQ(vectors.size(), 1u);
  EXPECT_EQ(parsed(answered(**headed, {two})).get<Texts>(), Texts{vectors});
  EXPECT_EQ(blamed(read_tei_tokens_body, R"({"inputs": "a", "dimensions": 3})"), "dimensions");
}

TEST_F(Tei, VectorsOfTokensAreBounded) {
  const auto made = body(read_tei_tokens_body, R"({"inputs": ["a", "b"]})");
  for (Request& request : made->requests) request.tokens.assign(500'000, 1);
  EXPECT_TRUE(check_rows(*made, 64).ok());
  const Status refused = check_rows(*made, 65);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().place.field, "inputs[1]");
  EXPECT_NE(refused.error().message().find("1000000 tokens with 65 values"), std::string::npos);
  const auto pooled = body(read_tei_body, R"({"inputs": "a"})");
  pooled->requests[0].tokens.assign(1'000'000, 1);
  EXPECT_TRUE(check_rows(*pooled, 1024).ok());
}

TEST_F(Tei, TokensHaveWeights) {
  const TemporaryFolder folder;
  testing::copy_bge_m3(folder.path() / "m");
  const auto model = Model::load(folder.path() / "m", {.threads = 1}).value();
  const EmbedOptions options = embed_options_for(*model, {.output = EmbedOutput::kWeights}).value();
  const auto made = read(read_tei_weights_body, R"({"inputs": "What is a page?"})", *model);
  ASSERT_TRUE(made.ok()) << made.error().message();
  const Request& request = (*made)->requests[0];
  const size_t n = encode_prompt(*model, request).value().size();
  // Rows of ones: some have a weight above 0, others have none.
  const std::vector<float> one(32, 1), minus(32, -1);
  std::vector<float> rows;
  const bool is_above = options.weight_steps->apply(one)[0] > 0;
  for (size_t i = 0; i < n; ++i)
    rows.insert(rows.end(), is_above ? one.begin() : minus.begin(),
                is_above ? one.end() : minus.end());
  const Completion completion{.embedding = rows, .prompt_tokens = static_cast<int>(n)};
  const auto weights = token_weights_of(completion, options, *model, request).value();
  ASSERT_GT(weights.size(), 3u);
  const Json list = answered(**made, {completion})[0];
  ASSERT_EQ(list.size(), weights.size());
  size_t i = 0;
  for (const auto& [token, weight] : weights) {
    EXPECT_EQ(list[i]["index"], token);
    EXPECT_EQ(list[i++]["value"].get<float>(), weight);
  }
  EXPECT_EQ(error(read_tei_weights_body, R"({"inputs": "a"})").message(),
            "the model has no weights of tokens, expected the file sparse_linear.pt");
}

TEST_F(Tei, TextsAreCutAtEitherEnd) {
  const auto cut = [&](const char* json) {
    const Request request = std::move(body(read_tei_body, json)->requests[0]);
    return std::pair(request.truncate_prompt_tokens, request.truncate_at_end);
  };
  EXPECT_EQ(cut(R"({"inputs": "a", "truncate": true})"), std::pair(640, true));
  EXPECT_EQ(cut(R"({"inputs": "a", "truncate": true, "truncation_direction": "Left"})"),
            std::pair(640, false));
  EXPECT_EQ(cut(R"({"inputs": "a"})").first, 0);
}

TEST_F(Tei, ErrorsNameTheFieldsOfTheBody) {
  EXPECT_EQ(blamed(read_tei_body, R"({"inputs": []})"), "inputs");
  EXPECT_EQ(blamed(read_tei_body, R"({"inputs": "a", "truncation_direction": "Up"})"),
            "truncation_direction");
  EXPECT_EQ(blamed(read_tei_body, R"({"inputs": "a", "mood": 1})"), "mood");
  EXPECT_EQ(json_text(kTeiErrors.body(kFull)),
            R"({"error":"the queue is full","error_type":"Overloaded"})");
}

}  // namespace
}  // namespace pando::ask
