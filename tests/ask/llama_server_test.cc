// Bodies of llama-server's own API, of Mistral's fill-in-the-middle, and their answers.
#include "ask/door_testing.h"
#include "engine/fim_model.h"

namespace pando::ask {
namespace {

constexpr const char* kInfill = R"({"input_prefix": "a", "prompt": "b", "input_suffix": "c",
    "n_predict": 4, "n_indent": 2, "samplers": ["top_k", "infill"], "t_max_predict_ms": 500})";

class LlamaServer : public Doors {
 protected:
  std::unique_ptr<Body> filled(ReadBody* reader, const char* json) {
    auto made = read(reader, json, *testing::fim_model());
    EXPECT_TRUE(made.ok()) << made.error().message();
    return std::move(*made);
  }
};

TEST_F(LlamaServer, FieldsGetTheirNames) {
  const auto made = body(read_llama_completion_body, R"({"prompt": "P", "n_predict": 7,
      "stop": ["x"], "repeat_penalty": 1.5, "seed": -1, "cache_prompt": false, "mirostat": 0,
      "id_slot": 0, "n_probs": 0})");
  const SamplingOptions& sampling = made->requests[0].sampling;
  EXPECT_EQ(made->requests[0].prompt, "P");
  EXPECT_EQ(sampling.max_tokens, 7);
  EXPECT_EQ(sampling.stop, std::vector<std::string>{"x"});
  EXPECT_EQ(sampling.repetition_penalty, 1.5);
  EXPECT_FALSE(sampling.seed);
  EXPECT_FALSE(made->serving.cached);
  const char* endless = R"({"prompt": [1, 2], "n_predict": -1})";
  EXPECT_EQ(body(read_llama_completion_body, endless)->requests[0].sampling.max_tokens, 640);
}

TEST_F(LlamaServer, ALengthHasTwoNames) {
  const auto length = [&](const char* json) {
    return body(read_llama_completion_body, json)->requests[0].sampling.max_tokens;
  };
  EXPECT_EQ(length(R"({"prompt": "P", "max_tokens": 5})"), 5);
  EXPECT_EQ(length(R"({"prompt": "P", "max_tokens": 5, "n_predict": 6})"), 6);
  EXPECT_EQ(blamed(read_llama_completion_body, R"({"prompt": "P", "max_tokens": "x"})"),
            "max_tokens");
}

TEST_F(LlamaServer, ErrorsNameTheFieldsOfTheBody) {
  EXPECT_EQ(blamed(read_llama_completion_body, "{}"), "prompt");
  EXPECT_EQ(blamed(read_llama_completion_body, R"({"prompt": "P", "mood": 1})"), "mood");
  EXPECT_EQ(blamed(read_llama_completion_body, R"({"prompt": "P", "mirostat": 2})"), "mirostat");
  EXPECT_EQ(blamed(read_llama_completion_body, R"({"prompt": "P", "n_predict": "x"})"),
            "n_predict");
  EXPECT_EQ(blamed(read_llama_completion_body, R"({"prompt": "P", "input_suffix": "x"})"),
            "input_suffix");
  EXPECT_EQ(error(read_llama_infill_body, kInfill).code, ErrorCode::kUnsupported);
}

TEST_F(LlamaServer, AnAnswerMayHaveChosenFields) {
  const auto whole = body(read_llama_completion_body, R"({"prompt": "P"})");
  const Json all = answered(*whole, {said_hi()});
  EXPECT_EQ(all["content"], "Hi");
  EXPECT_EQ(all["stop_type"], "eos");
  EXPECT_EQ(all["tokens"], Json::array());
  EXPECT_EQ(all["tokens_predicted"], 3);
  EXPECT_EQ(all["tokens_evaluated"], 5);
  const auto chosen = body(read_llama_completion_body, R"({"prompt": "P", "response_fields":
      ["content", "timings/prompt_n", "timings/prompt_ms", "none/of", "tokens"],
      "return_tokens": true})");
  EXPECT_EQ(json_text(answered(*chosen, {said_hi()})),
            R"({"content":"Hi","timings/prompt_n":3,"tokens":[72,105,10]})");
  const auto none = body(read_llama_completion_body, R"({"prompt": "P", "response_fields": [""]})");
  EXPECT_EQ(json_text(answered(*none, {said_hi()})), "{}");
}

TEST_F(LlamaServer, NoTokensComputeThePromptAlone) {
  const auto made = body(read_llama_completion_body, R"({"prompt": "P", "n_predict": 0})");
  EXPECT_EQ(made->requests[0].sampling.max_tokens, 1);
  const Json json = answered(*made, {said_hi()});
  EXPECT_EQ(json["content"], "");
  EXPECT_EQ(json["tokens_predicted"], 0);
}

TEST_F(LlamaServer, AStreamEndsWithItsCounts) {
  const auto made = body(read_llama_completion_body, R"({"prompt": "P", "stream": true})");
  const std::string events =
      streamed(*made, {{.text = "H", .n_tokens = 1}, {.text = "i", .completion = said_hi()}});
  const size_t end = events.find("\n\n");
  const Json first = Json::parse(events.substr(6, end - 6));
  EXPECT_EQ(first["content"], "H");
  EXPECT_EQ(first["stop"], false);
  const Json last = Json::parse(events.substr(end + 8));
  EXPECT_EQ(last["content"], "i");
  EXPECT_EQ(last["stop"], true);
  EXPECT_EQ(last["tokens_predicted"], 3);
}

TEST_F(LlamaServer, AGapIsFilledByTheVocabularysTokens) {
  const auto made = filled(read_llama_infill_body, kInfill);
  const Request& request = made->requests[0];
  EXPECT_EQ(request.prompt, "<|fim_prefix|>ab<|fim_suffix|>c<|fim_middle|>");
  EXPECT_EQ(request.sampling.stop_tokens, std::vector<Token>{testing::kFimFile});
  EXPECT_EQ(made->place(0), "input_prefix");
  const auto with_files = filled(read_llama_infill_body, R"({"input_prefix": "a",
      "input_suffix": "c", "input_extra": [{"filename": "f", "text": "x\n"}, {"text": "y"}]})");
  EXPECT_EQ(with_files->requests[0].prompt,
            "<|file_sep|>f\nx\n<|file_sep|>\ny<|file_sep|>\n"
            "<|fim_prefix|>a<|fim_suffix|>c<|fim_middle|>");
  const auto wrong = read(read_llama_infill_body, R"({"input_extra": [{"filename": "f"}]})",
                          *testing::fim_model());
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().place.field, "input_extra[0].text");
}

TEST_F(LlamaServer, ASuffixOfACompletionIsAGapToo) {
  constexpr const char* kSuffix = R"({"prompt": ["a", "b"], "suffix": "c"})";
  const auto made = filled(read_completions_body, kSuffix);
  EXPECT_EQ(made->requests[1].prompt, "<|fim_prefix|>b<|fim_suffix|>c<|fim_middle|>");
  EXPECT_EQ(made->requests[0].sampling.stop_tokens, std::vector<Token>{testing::kFimFile});
  EXPECT_EQ(filled(read_completions_body, R"({"prompt": "a", "suffix": ""})")->requests[0].prompt,
            "a");
  EXPECT_EQ(blamed(read_completions_body, kSuffix), "suffix");
  for (const auto& [json, field] : {std::pair{R"({"prompt": [1], "suffix": "c"})", "prompt"},
                                    {R"({"prompt": "a", "suffix": "c", "echo": true})", "echo"},
                                    {R"({"prompt": "a", "suffix": 5})", "suffix"}}) {
    const auto wrong = read(read_completions_body, json, *testing::fim_model());
    ASSERT_FALSE(wrong.ok()) << json;
    EXPECT_EQ(wrong.error().place.field, field);
  }
}

TEST_F(LlamaServer, MistralsAnswersAreChats) {
  const auto made =
      filled(read_fim_body, R"({"prompt": "a", "suffix": "c", "random_seed": 3, "stop": "x"})");
  EXPECT_EQ(made->requests[0].prompt, "<|fim_prefix|>a<|fim_suffix|>c<|fim_middle|>");
  EXPECT_EQ(made->requests[0].sampling.seed, 3u);
  EXPECT_EQ(made->requests[0].sampling.max_tokens, 640);
  EXPECT_EQ(made->length_field, nullptr);
  EXPECT_EQ(made->place(0), "prompt");
  const Json json = answered(*made, {said_hi()});
  EXPECT_EQ(json["object"], "chat.completion");
  EXPECT_EQ(json["choices"][0]["message"]["content"], "Hi");
  const auto stream = filled(read_fim_body, R"({"prompt": "a", "stream": true, "max_tokens": 5})");
  EXPECT_NE(streamed(*stream, {{.text = "Hi", .completion = said_hi()}})
                .find(R"("delta":{"content":"Hi"})"),
            std::string::npos);
  const auto last = filled(read_fim_body, R"({"prompt": "a", "stream": true, "max_tokens": 5})");
  const std::string end = streamed(*last, {{.completion = said_hi()}});
  EXPECT_NE(end.find(R"("delta":{"content":""})"), std::string::npos) << end;
  EXPECT_EQ(blamed(read_fim_body, R"({"prompt": "a", "random_seed": "x"})"), "random_seed");
}

}  // namespace
}  // namespace pando::ask
