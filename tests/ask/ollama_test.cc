// Bodies of Ollama's API, and their answers.
#include "ask/door_testing.h"
#include "ask/ollama_body.h"
#include "engine/fim_model.h"

namespace pando::ask {
namespace {

constexpr const char* kOllamaChat = R"({"messages": [{"role": "user", "content": "Q"}]})";

class Ollama : public Doors {};

TEST_F(Ollama, FieldsGetTheirNames) {
  const auto made = body(read_ollama_chat_body, R"({"model": "m", "stream": false,
      "keep_alive": "5m", "format": {"type": "object"}, "think": "low",
      "options": {"num_ctx": 4096, "num_predict": 7, "stop": ["x"], "temperature": 0.5, "seed": 9,
                  "repeat_penalty": 1.5, "mirostat": 0},
      "messages": [{"role": "user", "content": "Q", "images": []},
                   {"role": "assistant", "content": "", "thinking": "Hm",
                    "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]},
                   {"role": "tool", "content": "R", "tool_name": "f"}]})");
  const Request& request = made->requests[0];
  EXPECT_EQ(request.sampling.max_tokens, 7);
  EXPECT_EQ(request.sampling.stop, std::vector<std::string>{"x"});
  EXPECT_EQ(request.sampling.temperature, 0.5);
  EXPECT_EQ(request.sampling.repetition_penalty, 1.5);
  EXPECT_EQ(request.sampling.seed, 9u);
  EXPECT_EQ(request.sampling.form->kind, TextForm::Kind::kJsonSchema);
  EXPECT_FALSE(made->stream);
  ASSERT_EQ(request.messages.size(), 3u);
  EXPECT_NE(request.messages[1].fields.text().find(R"("reasoning_content":"Hm")"),
            std::string::npos);
  EXPECT_NE(request.messages[2].fields.text().find(R"("name":"f")"), std::string::npos);
  EXPECT_TRUE(body(read_ollama_chat_body, kOllamaChat)->stream);
}

TEST_F(Ollama, APromptIsAMessageUnlessItIsRaw) {
  const auto chat = body(read_ollama_generate_body, R"({"prompt": "P", "system": "S",
      "format": "json", "template": "", "context": []})");
  const Request& request = chat->requests[0];
  ASSERT_EQ(request.messages.size(), 2u);
  EXPECT_EQ(request.messages[0].content, "S");
  EXPECT_EQ(request.messages[1].content, "P");
  EXPECT_EQ(request.sampling.form->kind, TextForm::Kind::kJsonObject);
  EXPECT_EQ(chat->place(0), "prompt");
  const auto raw = body(read_ollama_generate_body, R"({"prompt": "P", "raw": true,
      "options": {"num_predict": -1}})");
  EXPECT_EQ(raw->requests[0].prompt, "P");
  EXPECT_EQ(raw->requests[0].sampling.max_tokens, 640);
  auto filled =
      read(read_ollama_generate_body, R"({"prompt": "a", "suffix": "b"})", *testing::fim_model());
  ASSERT_TRUE(filled.ok()) << filled.error().message();
  EXPECT_EQ((*filled)->requests[0].prompt, "<|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>");
}

// ollama-python sends these values if its caller sets none.
TEST_F(Ollama, EmptyValuesAskForNothing) {
  const auto chat = body(read_ollama_chat_body, R"({"model": "m", "stream": false, "tools": [],
      "format": "", "messages": [{"role": "user", "content": "Q"}]})");
  EXPECT_TRUE(chat->requests[0].chat.tools.is_null());
  EXPECT_FALSE(chat->requests[0].sampling.form);
  const auto generated = body(read_ollama_generate_body, R"({"model": "m", "prompt": "P",
      "suffix": "", "system": "", "template": "", "raw": false, "stream": false})");
  EXPECT_EQ(generated->requests[0].messages.size(), 1u);
}

TEST_F(Ollama, ErrorsNameTheFieldsOfTheBody) {
  EXPECT_EQ(blamed(read_ollama_chat_body, "{}"), "messages");
  EXPECT_EQ(blamed(read_ollama_chat_body, R"({"messages": [], "mood": 1})"), "mood");
  const auto with = [](const char* more) {
    return R"({"messages": [{"role": "user", "content": "Q"}], )" + std::string(more) + "}";
  };
  for (const auto& [more, field] :
       {std::pair{R"("options": {"num_predict": "x"})", "options.num_predict"},
        {R"("options": {"temperature": "x"})", "options.temperature"},
        {R"("options": {"mirostat": 1})", "options.mirostat"},
        {R"("options": {"mood": 1})", "options.mood"},
        {R"("options": {"priority": 1})", "options.priority"},
        {R"("think": 5)", "think"},
        {R"("format": 5)", "format"}})
    EXPECT_EQ(blamed(read_ollama_chat_body, with(more).c_str()), field) << more;
  for (const auto& [json, field] : {std::pair{R"({"prompt": ""})", "prompt"},
                                    {R"({"prompt": "P", "template": "T"})", "template"},
                                    {R"({"prompt": "P", "raw": true, "system": "S"})", "system"},
                                    {R"({"prompt": "P", "raw": true, "think": true})", "think"}})
    EXPECT_EQ(blamed(read_ollama_generate_body, json), field) << json;
  const HttpError wrong{400, "invalid_request_error", "invalid_argument", "no"};
  EXPECT_EQ(json_text(kOllamaErrors.body(wrong)), R"({"error":"no"})");
  EXPECT_EQ(kOllamaErrors.last_events(wrong), "{\"error\":\"no\"}\n");
}

TEST_F(Ollama, AnAnswerHasThinkingAndCalls) {
  Completion completion = said_hi();
  completion.reasoning = "Hm";
  completion.calls = {{"c1", "f", R"({"x":1})"}};
  EXPECT_EQ(json_text(answered(*body(read_ollama_chat_body, kOllamaChat), {completion})),
            R"({"model":"tiny","created_at":"1970-01-01T00:00:07Z","message":{"role":"assistant",)"
            R"("content":"Hi","thinking":"Hm","tool_calls":[{"id":"c1","function":{"name":"f",)"
            R"("arguments":{"x":1}}}]},"done":true,"done_reason":"stop","prompt_eval_count":5,)"
            R"("eval_count":3})");
}

TEST_F(Ollama, AStreamHasALineForEachPart) {
  const auto made = body(read_ollama_generate_body, R"({"prompt": "P"})");
  EXPECT_STREQ(made->stream_type(), "application/x-ndjson");
  EXPECT_EQ(streamed(*made, {{.text = "Hi"}, {.completion = said_hi()}}),
            R"({"model":"tiny","created_at":"1970-01-01T00:00:07Z","response":"Hi","done":false})"
            "\n"
            R"({"model":"tiny","created_at":"1970-01-01T00:00:07Z","response":"","done":true,)"
            R"("done_reason":"stop","prompt_eval_count":5,"eval_count":3})"
            "\n");
}

TEST_F(Ollama, VectorsComeInBothForms) {
  const auto made = body(read_ollama_embed_body, R"({"input": ["a", "b"], "keep_alive": 5})");
  EXPECT_EQ(made->requests[1].truncate_prompt_tokens, 640);
  EXPECT_EQ(json_text(answered(*made, {{.embedding = {1, 0}, .prompt_tokens = 2},
                                       {.embedding = {0, 1}, .prompt_tokens = 3}})),
            R"({"model":"tiny","embeddings":[[1.0,0.0],[0.0,1.0]],"prompt_eval_count":5})");
  const auto older = body(read_ollama_embedding_body, R"({"prompt": "a"})");
  EXPECT_EQ(json_text(answered(*older, {{.embedding = {1, 0}}})), R"({"embedding":[1.0,0.0]})");
  EXPECT_EQ(blamed(read_ollama_embedding_body, "{}"), "prompt");
}

}  // namespace
}  // namespace pando::ask
