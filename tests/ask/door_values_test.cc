// Any value in any field of a door's body is read or refused, at a place of that body.
#include "ask/door_testing.h"
#include "engine/fim_model.h"

namespace pando::ask {
namespace {

struct Sample {
  const char* name;
  ReadBody* reader;
  const char* json;
};

constexpr Sample kSamples[] = {
    {"tei", read_tei_body,
     R"({"inputs": ["a"], "normalize": true, "truncate": true, "truncation_direction": "Left",
         "prompt_name": "p", "dimensions": 2})"},
    {"tgi", read_inference_body,
     R"({"inputs": "a", "stream": true, "options": {}, "parameters": {"max_new_tokens": 5,
         "stop": ["x"], "truncate": 3, "top_n_tokens": 2, "details": true, "do_sample": true,
         "grammar": {"type": "json", "value": {"type": "object"}}, "return_full_text": true,
         "typical_p": 0.9, "best_of": 1, "decoder_input_details": false, "watermark": false,
         "seed": 1, "temperature": 0.5}})"},
    {"cohere", read_cohere_chat_body,
     R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]},
           {"role": "assistant", "tool_plan": "p", "citations": [],
            "content": [{"type": "thinking", "thinking": "b"}],
            "tool_calls": [{"id": "c", "type": "function",
                            "function": {"name": "f", "arguments": "{}"}}]},
           {"role": "tool", "tool_call_id": "c",
            "content": [{"type": "document", "document": {"data": "d"}}]}],
         "tools": [{"type": "function",
                    "function": {"name": "f", "parameters": {"type": "object"}}}],
         "tool_choice": "REQUIRED", "strict_tools": true, "k": 3, "p": 0.5, "max_tokens": 5,
         "stop_sequences": ["x"], "documents": ["D", {"id": "i", "data": {"text": "E"}}],
         "thinking": {"type": "enabled", "token_budget": 4}, "raw_prompting": false})"},
    {"cohere embeddings", read_cohere_embed_body,
     R"({"texts": ["a"], "input_type": "search_query", "output_dimension": 2, "max_tokens": 3,
         "truncate": "END", "embedding_types": ["float"]})"},
    {"ollama chat", read_ollama_chat_body,
     R"({"messages": [{"role": "user", "content": "a", "images": []},
           {"role": "assistant", "thinking": "b",
            "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]},
           {"role": "tool", "content": "c", "tool_name": "f"}],
         "tools": [{"type": "function",
                    "function": {"name": "f", "parameters": {"type": "object"}}}],
         "think": "low", "format": {"type": "object"}, "keep_alive": 5, "stream": false,
         "options": {"num_predict": 5, "stop": ["x"], "repeat_penalty": 1.5, "mirostat": 0,
                     "seed": 1, "temperature": 0.5, "num_ctx": 64}})"},
    {"ollama generate", read_ollama_generate_body,
     R"({"prompt": "a", "suffix": "b", "system": "", "raw": true, "format": "json",
         "template": "", "images": [], "context": [], "think": false, "options": {"top_k": 3}})"},
    {"ollama embeddings", read_ollama_embed_body,
     R"({"input": ["a"], "dimensions": 2, "truncate": true, "options": {}})"},
    {"llama-server", read_llama_completion_body,
     R"({"prompt": [1, 2], "n_predict": 5, "stop": ["x"], "repeat_penalty": 1.5, "grammar": "",
         "return_tokens": true, "response_fields": ["content"], "mirostat": 0, "samplers": []})"},
    {"infill", read_llama_infill_body,
     R"({"input_prefix": "a", "input_suffix": "b", "prompt": "c", "n_predict": 0,
         "input_extra": [{"filename": "f", "text": "t"}]})"},
    {"fim", read_fim_body,
     R"({"prompt": "a", "suffix": "b", "max_tokens": 5, "stop": "x", "random_seed": 1})"}};

// Calls `visit` for each part of a tree.
template <class Visit>
void each_part(Json& json, const Visit& visit) {
  visit(json);
  if (!json.is_structured()) return;
  for (Json& part : json) each_part(part, visit);
}

class DoorValues : public Doors {
 protected:
  void check(const Sample& sample, const Json& body) {
    const auto made = read(sample.reader, json_text(body).c_str(), *testing::fim_model());
    if (made.ok()) return;
    const std::string& place = made.error().place.field;
    const std::string first = place.substr(0, place.find_first_of(".["));
    EXPECT_TRUE(place.empty() || body.contains(first) ||
                made.error().message().find("has no '" + first + "'") != std::string::npos)
        << sample.name << ": " << place << ": " << made.error().message() << " of " << body;
  }
};

TEST_F(DoorValues, AreReadOrRefused) {
  const std::vector<Json> values = {nullptr,
                                    true,
                                    -1,
                                    1.5,
                                    "",
                                    "x",
                                    Json::array(),
                                    Json::object(),
                                    {1},
                                    Json{{"a", 1}},
                                    {"x"},
                                    Json::array({{{"a", 1}}})};
  for (const Sample& sample : kSamples) {
    Json body = Json::parse(sample.json);
    const auto whole_body = read(sample.reader, sample.json, *testing::fim_model());
    EXPECT_TRUE(whole_body.ok()) << sample.name << ": " << whole_body.error().message();
    each_part(body, [&](Json& part) {
      if (&part == &body) return;
      const Json whole = part;
      for (const Json& value : values) {
        part = value;
        check(sample, body);
      }
      part = whole;
    });
  }
}

}  // namespace
}  // namespace pando::ask
