#include "openai/response.h"

#include "api/prompt.h"
#include "openai/embedding.h"
#include "openai/logprobs.h"
#include "pando/sharing.h"

namespace pando::openai {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson completion_choice(const AnswerForm& form, const Request& request,
                              const Completion& completion, const Model& model) {
  OrderedJson choice = {{"index", 0}, {"text", completion.text}, {"logprobs", nullptr}};
  if (form.echo) choice["text"] = prompt_text(request, model) + completion.text;
  if (!request.sampling.logprobs) return choice;
  TokenLists lists(model);
  if (form.echo) {
    const std::vector<Token> prompt = prompt_tokens(request, model);
    if (!prompt.empty()) lists.add_first(prompt[0]);
  }
  lists.add_all(completion.prompt_logprobs);
  lists.add_all(told_logprobs(model, request, completion));
  choice["logprobs"] = lists.take();
  return choice;
}

OrderedJson chat_choice(const Request& request, const Completion& completion, const Model& model) {
  return {{"index", 0},
          {"message", {{"role", "assistant"}, {"content", completion.text}, {"refusal", nullptr}}},
          {"logprobs", request.sampling.logprobs
                           ? chat_logprobs(model, told_logprobs(model, request, completion))
                           : OrderedJson(nullptr)}};
}

}  // namespace

OrderedJson head(const AnswerForm& form, const Envelope& envelope, bool chunk) {
  const bool chat = form.endpoint == Endpoint::kChat;
  return {{"id", (chat ? "chatcmpl-" : "cmpl-") + envelope.id},
          {"object", !chat   ? "text_completion"
                     : chunk ? "chat.completion.chunk"
                             : "chat.completion"},
          {"created", envelope.created},
          {"model", envelope.model}};
}

OrderedJson usage_of(uint64_t n_prompt, uint64_t n_generated) {
  return {{"prompt_tokens", n_prompt},
          {"completion_tokens", n_generated},
          {"total_tokens", n_prompt + n_generated}};
}

OrderedJson usage(const Completions& completions, bool cached) {
  uint64_t n_prompt = 0, n_generated = 0, n_cached = 0;
  for (const std::vector<Completion>& of_prompt : completions) {
    if (of_prompt.empty()) continue;
    n_prompt += static_cast<uint64_t>(of_prompt[0].prompt_tokens);
    n_cached += static_cast<uint64_t>(of_prompt[0].shared_tokens);
    for (const Completion& completion : of_prompt) n_generated += completion.tokens.size();
  }
  OrderedJson json = usage_of(n_prompt, n_generated);
  if (cached) json["prompt_tokens_details"]["cached_tokens"] = n_cached;
  return json;
}

OrderedJson sharing(const Completions& completions) {
  uint64_t n_prompt = 0, n_reused = 0;
  for (const std::vector<Completion>& of_prompt : completions)
    for (const Completion& completion : of_prompt) {
      n_prompt += static_cast<uint64_t>(completion.prompt_tokens);
      n_reused += static_cast<uint64_t>(completion.shared_tokens);
    }
  return {{"prompt_tokens", n_prompt}, {"computed", n_prompt - n_reused}, {"reused", n_reused}};
}

const char* finish_reason(const Completion& completion) {
  return completion.finish_reason == FinishReason::kStop ? "stop" : "length";
}

std::string prompt_text(const Request& request, const Model& model) {
  const bool is_cut = request.truncate_prompt_tokens > 0;
  if (!is_cut && (!request.prompt.empty() || request.tokens.empty())) return request.prompt;
  Result<std::string> text = model.decode(prompt_tokens(request, model));
  return text ? std::move(*text) : std::string();
}

std::vector<Token> prompt_tokens(const Request& request, const Model& model) {
  Result<std::vector<Token>> tokens = encode_prompt(model, request);
  return tokens ? std::move(*tokens) : std::vector<Token>();
}

OrderedJson response_body(const AnswerForm& form, const Envelope& envelope,
                          std::span<const Request> requests, const Completions& completions,
                          const Model& model, bool cached) {
  if (form.endpoint == Endpoint::kEmbeddings) return embeddings_body(form, envelope, completions);
  const bool chat = form.endpoint == Endpoint::kChat;
  OrderedJson body = head(form, envelope, /*chunk=*/false);
  OrderedJson& choices = body["choices"] = OrderedJson::array();
  for (size_t i = 0; i < completions.size(); ++i)
    for (const Completion& completion : completions[i]) {
      OrderedJson choice = chat ? chat_choice(requests[i], completion, model)
                                : completion_choice(form, requests[i], completion, model);
      choice["index"] = choices.size();
      choice["finish_reason"] = finish_reason(completion);
      if (!envelope.warning.empty()) choice["wrong"] = envelope.warning;
      choices.push_back(std::move(choice));
    }
  body["usage"] = usage(completions, cached);
  if (form.sharing) body["sharing"] = sharing(completions);
  return body;
}

}  // namespace pando::openai
