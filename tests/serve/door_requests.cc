#include "serve/door_requests.h"

#include "serve/said.h"

namespace pando::testing {
namespace {

// Fields that OpenAI's API, Cohere's and this server's share.
Json drawn(const DoorAsk& asked, const char* length = "max_tokens") {
  return {{"temperature", asked.temperature},
          {"seed", asked.seed},
          {"ignore_eos", true},
          {length, asked.length}};
}

Json joined(Json body, const Json& more) {
  body.update(more);
  return body;
}

Json user_said(const std::string& text) {
  return Json::array({{{"role", "user"}, {"content", text}}});
}

Json chat(const DoorAsk& asked) {
  return joined(drawn(asked), {{"messages", user_said(asked.text)}});
}

Json ollama(const DoorAsk& asked) {
  return {{"stream", false}, {"options", drawn(asked, "num_predict")}};
}

Json tgi(const DoorAsk& asked) {
  Json parameters =
      joined(drawn(asked, "max_new_tokens"), {{"details", true}, {"top_n_tokens", 2}});
  return {{"inputs", asked.text}, {"parameters", std::move(parameters)}};
}

Json choices_of(const Json& answer) { return said_by_choices(answer["choices"]); }

// Text and reason of an answer in the form of a chat, without log-probabilities.
Json said_in_gap(const Json& answer) {
  const Json& choice = answer["choices"][0];
  return {choice["message"]["content"], choice["finish_reason"]};
}
Json said_in_gap_parts(const std::vector<Json>& parts) {
  std::string text;
  for (const Json& part : parts) text += part["choices"][0]["delta"]["content"];
  return {text, parts.back()["choices"][0]["finish_reason"]};
}

Json tgi_token(const Json& token, const Json& tops) {
  Json said = {token["id"], token["logprob"]};
  for (const Json& top : tops) said.push_back({top["id"], top["logprob"]});
  return said;
}
Json said_by_tgi(const Json& answer) {
  const Json& one = answer.is_array() ? answer[0] : answer;
  const Json& details = one["details"];
  Json said = {one["generated_text"], details["finish_reason"]};
  for (size_t i = 0; i < details["tokens"].size(); ++i)
    said.push_back(tgi_token(details["tokens"][i], details["top_tokens"][i]));
  return said;
}
Json said_by_tgi_parts(const std::vector<Json>& parts) {
  Json said = {parts.back()["generated_text"], parts.back()["details"]["finish_reason"]};
  for (const Json& part : parts) said.push_back(tgi_token(part["token"], part["top_tokens"]));
  return said;
}

Json said_by_responses(const Json& answer) {
  return {answer["status"], answer["output"][0]["content"]};
}
Json said_by_responses_parts(const std::vector<Json>& parts) {
  std::string text;
  for (const Json& part : parts)
    if (part["type"] == "response.output_text.delta") text += part["delta"];
  const Json& whole = parts.back()["response"];
  EXPECT_EQ(text, whole["output"][0]["content"][0]["text"]);
  return said_by_responses(whole);
}

Json said_by_messages(const Json& answer) {
  return {answer["content"][0]["text"], answer["stop_reason"]};
}
Json said_by_messages_parts(const std::vector<Json>& parts) {
  std::string text;
  Json reason;
  for (const Json& part : parts) {
    if (part["type"] == "content_block_delta") text += part["delta"]["text"];
    if (part["type"] == "message_delta") reason = part["delta"]["stop_reason"];
  }
  return {text, reason};
}

Json said_by_cohere(const Json& answer) {
  return {answer["message"]["content"][0]["text"], answer["finish_reason"],
          answer["usage"]["tokens"]["output_tokens"]};
}
Json said_by_cohere_parts(const std::vector<Json>& parts) {
  std::string text;
  for (const Json& part : parts)
    if (part["type"] == "content-delta") text += part["delta"]["message"]["content"]["text"];
  const Json& end = parts.back()["delta"];
  return {text, end["finish_reason"], end["usage"]["tokens"]["output_tokens"]};
}

std::string ollama_text(const Json& part) {
  return part.contains("message") ? part["message"]["content"] : part["response"];
}
Json said_by_ollama(const Json& answer) {
  return {ollama_text(answer), answer["done_reason"], answer["eval_count"]};
}
Json said_by_ollama_parts(const std::vector<Json>& parts) {
  std::string text;
  for (const Json& part : parts) text += ollama_text(part);
  return {text, parts.back()["done_reason"], parts.back()["eval_count"]};
}

Json said_by_llama(const Json& answer) {
  return {answer["content"], answer["tokens"], answer["stop_type"]};
}
Json said_by_llama_parts(const std::vector<Json>& parts) {
  std::string text;
  for (const Json& part : parts) text += part["content"];
  return {text, parts.back()["tokens"], parts.back()["stop_type"]};
}

template <const char*... names>
Json member(const Json& answer) {
  const Json* at = &answer;
  for (const char* name : {names...}) at = &at->at(name);
  return *at;
}
constexpr char kAnswers[] = "answers", kData[] = "data", kResults[] = "results",
               kEmbedding[] = "embedding", kEmbeddings[] = "embeddings", kFloat[] = "float";

Json all_of(const Json& answer) { return answer; }

}  // namespace

std::vector<DoorRequest> door_requests() {
  return {
      {"/v1/completions",
       [](const DoorAsk& a) {
         return joined(drawn(a), {{"prompt", a.text}, {"logprobs", 2}});
       },
       choices_of, said_by_chunks},
      {"/v1/chat/completions",
       [](const DoorAsk& a) {
         return joined(chat(a), {{"logprobs", true}, {"top_logprobs", 2}});
       },
       choices_of, said_by_chunks},
      {"/v1/responses",
       [](const DoorAsk& a) {
         return joined(drawn(a, "max_output_tokens"),
                       {{"input", a.text},
                        {"store", false},
                        {"top_logprobs", 2},
                        {"include", {"message.output_text.logprobs"}}});
       },
       said_by_responses, said_by_responses_parts},
      {"/v1/messages", chat, said_by_messages, said_by_messages_parts},
      {"/v1/answers",
       [](const DoorAsk& a) {
         return joined(drawn(a), {{"context", a.text}, {"questions", {a.other, "Who?"}}});
       },
       member<kAnswers>, said_by_answers},
      {"/v1/embeddings",
       [](const DoorAsk& a) {
         return Json{{"input", {a.text, a.other}}};
       },
       member<kData>, nullptr},
      {"/v1/rerank",
       [](const DoorAsk& a) {
         return Json{{"query", a.text}, {"documents", {a.other, "b"}}};
       },
       member<kResults>, nullptr},
      {"/v2/rerank",
       [](const DoorAsk& a) {
         return Json{{"query", a.text}, {"documents", {a.other, "b"}}};
       },
       member<kResults>, nullptr},
      {"/rerank",
       [](const DoorAsk& a) {
         return Json{{"query", a.text}, {"texts", {a.other, "b"}}};
       },
       all_of, nullptr},
      {"/v1/score",
       [](const DoorAsk& a) {
         return Json{{"prompt", a.text}, {"continuations", {a.other, "b"}}};
       },
       member<kData>, nullptr},
      {"/embed",
       [](const DoorAsk& a) {
         return Json{{"inputs", {a.text, a.other}}};
       },
       all_of, nullptr},
      {"/embed_all",
       [](const DoorAsk& a) {
         return Json{{"inputs", {a.text, a.other}}};
       },
       all_of, nullptr},
      {"/",
       [](const DoorAsk& a) {
         return Json{{"inputs", {a.text, a.other}}};
       },
       all_of, nullptr},
      {"/generate", tgi, said_by_tgi, said_by_tgi_parts, "/generate_stream"},
      {"/", tgi, said_by_tgi, said_by_tgi_parts},
      {"/v2/chat", chat, said_by_cohere, said_by_cohere_parts},
      {"/v2/embed",
       [](const DoorAsk& a) {
         return Json{{"texts", {a.text, a.other}}};
       },
       member<kEmbeddings, kFloat>, nullptr},
      {"/api/chat",
       [](const DoorAsk& a) {
         return joined(ollama(a), {{"messages", user_said(a.text)}});
       },
       said_by_ollama, said_by_ollama_parts},
      {"/api/generate",
       [](const DoorAsk& a) {
         return joined(ollama(a), {{"prompt", a.text}});
       },
       said_by_ollama, said_by_ollama_parts},
      {"/api/embed",
       [](const DoorAsk& a) {
         return Json{{"input", {a.text, a.other}}};
       },
       member<kEmbeddings>, nullptr},
      {"/api/embeddings",
       [](const DoorAsk& a) {
         return Json{{"prompt", a.text}};
       },
       member<kEmbedding>, nullptr},
      {"/completion",
       [](const DoorAsk& a) {
         return joined(drawn(a, "n_predict"), {{"prompt", a.text}, {"return_tokens", true}});
       },
       said_by_llama, said_by_llama_parts},
  };
}

std::vector<DoorRequest> gap_requests() {
  return {
      {"/v1/completions",
       [](const DoorAsk& a) {
         return joined(drawn(a), {{"prompt", a.text}, {"suffix", a.other}, {"logprobs", 2}});
       },
       choices_of, said_by_chunks},
      {"/v1/fim/completions",
       [](const DoorAsk& a) {
         Json body = joined(drawn(a), {{"prompt", a.text}, {"suffix", a.other}});
         body["random_seed"] = a.seed;
         body.erase("seed");
         return body;
       },
       said_in_gap, said_in_gap_parts},
      {"/infill",
       [](const DoorAsk& a) {
         return joined(
             drawn(a, "n_predict"),
             {{"input_prefix", a.text}, {"input_suffix", a.other}, {"return_tokens", true}});
       },
       said_by_llama, said_by_llama_parts},
      {"/api/generate",
       [](const DoorAsk& a) {
         return joined(ollama(a), {{"prompt", a.text}, {"suffix", a.other}});
       },
       said_by_ollama, said_by_ollama_parts},
  };
}

}  // namespace pando::testing
