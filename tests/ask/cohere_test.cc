// Bodies of Cohere's API, version 2, and their answers.
#include "ask/cohere_body.h"
#include "ask/door_testing.h"

namespace pando::ask {
namespace {

constexpr const char* kCohereChat = R"({"messages": [{"role": "user", "content": "Q"}]})";

class Cohere : public Doors {};

TEST_F(Cohere, FieldsGetTheirNames) {
  const auto made = body(read_cohere_chat_body, R"({"model": "m", "max_tokens": 7, "k": 3,
      "p": 0.5, "stop_sequences": ["x"], "seed": 9, "safety_mode": "OFF", "raw_prompting": false,
      "response_format": {"type": "json_object", "json_schema": {"type": "object"}},
      "documents": ["D", {"id": "i", "data": {"text": "E"}}, {"data": "F"}],
      "thinking": {"type": "enabled", "token_budget": 20},
      "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "Q"}]})");
  const Request& request = made->requests[0];
  EXPECT_EQ(request.sampling.max_tokens, 7);
  EXPECT_EQ(request.sampling.top_k, 3);
  EXPECT_EQ(request.sampling.top_p, 0.5);
  EXPECT_EQ(request.sampling.stop, std::vector<std::string>{"x"});
  EXPECT_EQ(request.sampling.seed, 9u);
  EXPECT_EQ(request.sampling.form->kind, TextForm::Kind::kJsonSchema);
  EXPECT_EQ(request.thinking_budget, 20);
  EXPECT_EQ(request.chat.documents.text(), R"([{"text":"D"},{"text":"E","id":"i"},{"text":"F"}])");
}

TEST_F(Cohere, PartsOfMessagesAreTranslated) {
  const auto made = body(read_cohere_chat_body, R"({"tools": [{"type": "function",
        "function": {"name": "f", "parameters": {"type": "object"}}}],
      "strict_tools": true, "tool_choice": "REQUIRED", "messages": [
      {"role": "user", "content": [{"type": "text", "text": "Q"}]},
      {"role": "assistant", "tool_plan": "plan", "citations": [],
       "content": [{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "A"}],
       "tool_calls": [{"id": "c", "type": "function",
                       "function": {"name": "f", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "c",
       "content": [{"type": "document", "document": {"data": "R"}}]}]})");
  const Request& request = made->requests[0];
  ASSERT_EQ(request.messages.size(), 3u);
  EXPECT_EQ(request.messages[0].content, "Q");
  EXPECT_EQ(request.messages[1].content, "A");
  EXPECT_NE(request.messages[1].fields.text().find(R"("reasoning_content":"Hm")"),
            std::string::npos);
  EXPECT_EQ(request.messages[2].content, R"({"data":"R"})");
  EXPECT_TRUE(request.calling.required);
  EXPECT_TRUE(request.calling.strict);
}

TEST_F(Cohere, ErrorsNameTheFieldsOfTheBody) {
  EXPECT_EQ(blamed(read_cohere_chat_body, "{}"), "messages");
  const auto with = [](const char* more) {
    return R"({"messages": [{"role": "user", "content": "Q"}], )" + std::string(more) + "}";
  };
  for (const auto& [more, field] : {std::pair{R"("mood": 1)", "mood"},
                                    {R"("p": "x")", "p"},
                                    {R"("logprobs": true)", "logprobs"},
                                    {R"("tool_choice": "auto")", "tool_choice"},
                                    {R"("thinking": {"type": "x"})", "thinking.type"},
                                    {R"("documents": "D")", "documents"},
                                    {R"("stop_sequences": 5)", "stop_sequences"}})
    EXPECT_EQ(blamed(read_cohere_chat_body, with(more).c_str()), field) << more;
  const HttpError wrong{400, "invalid_request_error", "invalid_argument", "no"};
  EXPECT_EQ(json_text(kCohereErrors.body(wrong)), R"({"message":"no"})");
  EXPECT_EQ(kCohereErrors.last_events(wrong),
            "event: message-end\ndata: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":"
            "\"ERROR\",\"error\":\"no\"}}\n\n");
}

TEST_F(Cohere, AnAnswerIsAMessage) {
  Completion completion = said_hi();
  completion.reasoning = "Hm";
  completion.calls = {{"c1", "f", R"({"x":1})"}};
  EXPECT_EQ(json_text(answered(*body(read_cohere_chat_body, kCohereChat), {completion})),
            R"({"id":"1","finish_reason":"TOOL_CALL","message":{"role":"assistant","content":)"
            R"([{"type":"thinking","thinking":"Hm"},{"type":"text","text":"Hi"}],"tool_calls":)"
            R"([{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},)"
            R"("usage":{"billed_units":{"input_tokens":5,"output_tokens":3},"tokens":)"
            R"({"input_tokens":5,"output_tokens":3},"cached_tokens":2}})");
  completion = said_hi();
  completion.stop_text = "!";
  EXPECT_EQ(answered(*body(read_cohere_chat_body, kCohereChat), {completion})["finish_reason"],
            "STOP_SEQUENCE");
  completion.finish_reason = FinishReason::kLength;
  EXPECT_EQ(answered(*body(read_cohere_chat_body, kCohereChat), {completion})["finish_reason"],
            "MAX_TOKENS");
}

TEST_F(Cohere, AStreamHasBlocksAndCalls) {
  const auto made = body(read_cohere_chat_body, R"({"stream": true,
      "messages": [{"role": "user", "content": "Q"}]})");
  const std::string events =
      streamed(*made, {{.reasoning = "Hm"},
                       {.text = "H"},
                       {.text = "i"},
                       {.calls = {{"c1", "f", R"({"x":1})"}}, .completion = said_hi()}});
  std::vector<std::string> names;
  for (size_t at = 0; (at = events.find("event: ", at)) != events.npos; ++at)
    names.push_back(events.substr(at + 7, events.find('\n', at) - at - 7));
  EXPECT_EQ(names, (std::vector<std::string>{"message-start", "content-start", "content-delta",
                                             "content-end", "content-start", "content-delta",
                                             "content-delta", "content-end", "tool-call-start",
                                             "tool-call-delta", "tool-call-end", "message-end"}));
  for (const char* part :
       {R"("type":"content-delta","index":0,"delta":{"message":{"content":{"thinking":"Hm"}}})",
        R"("type":"content-delta","index":1,"delta":{"message":{"content":{"text":"i"}}})",
        R"("delta":{"message":{"tool_calls":{"function":{"arguments":"{\"x\":1}"}}}})",
        R"("delta":{"finish_reason":"COMPLETE","usage":{)"})
    EXPECT_NE(events.find(part), std::string::npos) << part << " in " << events;
}

TEST_F(Cohere, VectorsComeByType) {
  const auto made = body(read_cohere_embed_body, R"({"texts": ["a", "b"], "model": "m",
      "input_type": "search_document", "embedding_types": ["float", "base64"]})");
  EXPECT_EQ(made->requests[0].truncate_prompt_tokens, 640);
  EXPECT_EQ(json_text(answered(*made, {{.embedding = {1, 0}, .prompt_tokens = 2},
                                       {.embedding = {0, 1}, .prompt_tokens = 3}})),
            R"({"id":"1","response_type":"embeddings_by_type","embeddings":{"float":[[1.0,0.0],)"
            R"([0.0,1.0]],"base64":["AACAPwAAAAA=","AAAAAAAAgD8="]},"texts":["a","b"],"meta":)"
            R"({"api_version":{"version":"2"},"billed_units":{"input_tokens":5},"tokens":)"
            R"({"input_tokens":5}}})");
  EXPECT_EQ(blamed(read_cohere_embed_body, "{}"), "texts");
  EXPECT_EQ(blamed(read_cohere_embed_body, R"({"texts": ["a"], "embedding_types": ["int8"]})"),
            "embedding_types");
  EXPECT_EQ(blamed(read_cohere_embed_body, R"({"texts": ["a"], "mood": 1})"), "mood");
}

}  // namespace
}  // namespace pando::ask
