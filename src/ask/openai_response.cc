#include "ask/openai_response.h"

#include <utility>

#include "api/prompt.h"
#include "ask/embedding.h"
#include "ask/logprobs.h"
#include "ask/usage.h"
#include "base/json.h"

namespace pando::ask {
namespace {

Json completion_choice(const AnswerForm& form, const Request& request, const Completion& completion,
                       const Model& model) {
  Json choice = {{"index", 0}, {"text", completion.text}, {"logprobs", nullptr}};
  if (form.echo) choice["text"] = echoed_prompt(request, model) + completion.text;
  if (!request.sampling.logprobs) return choice;
  TokenLists lists(model);
  if (form.echo) {
    const Result<std::vector<Token>> prompt = encode_prompt(model, request);
    if (prompt && !prompt->empty()) lists.add_first(prompt->front());
  }
  lists.add_all(completion.prompt_logprobs);
  lists.add_all(reported_logprobs(model, request, completion));
  choice["logprobs"] = lists.take();
  return choice;
}

Json chat_choice(const AnswerForm& form, const Request& request, const Completion& completion,
                 const Model& model) {
  Json message = {{"role", "assistant"}, {"content", completion.text}};
  if (!completion.calls.empty()) {
    if (completion.text.empty()) message["content"] = nullptr;
    if (form.functions)
      message["function_call"] = function_call(completion.calls[0]);
    else
      message["tool_calls"] = tool_calls(completion.calls);
  }
  if (!completion.reasoning.empty()) message[kReasoningField] = completion.reasoning;
  message["refusal"] = nullptr;
  return {{"index", 0},
          {"message", std::move(message)},
          {"logprobs", request.sampling.logprobs
                           ? chat_logprobs(model, reported_logprobs(model, request, completion))
                           : Json(nullptr)}};
}

}  // namespace

Json head(const AnswerForm& form, const Envelope& envelope, bool chunk) {
  const bool chat = form.endpoint == Endpoint::kChat;
  return {{"id", (chat ? "chatcmpl-" : "cmpl-") + envelope.id},
          {"object", !chat   ? "text_completion"
                     : chunk ? "chat.completion.chunk"
                             : "chat.completion"},
          {"created", envelope.created},
          {"model", envelope.model}};
}

const char* finish_reason(const AnswerForm& form, const Completion& completion) {
  if (completion.finish_reason != FinishReason::kStop) return "length";
  if (completion.calls.empty()) return "stop";
  return form.functions ? "function_call" : "tool_calls";
}

Json function_call(const ToolCall& call) {
  return {{"name", call.name}, {"arguments", call.arguments}};
}

Json tool_calls(std::span<const ToolCall> calls) {
  Json list = Json::array();
  for (const ToolCall& call : calls)
    list.push_back({{"id", call.id}, {"type", "function"}, {"function", function_call(call)}});
  return list;
}

std::string echoed_prompt(const Request& request, const Model& model) {
  Result<std::string> text = prompt_text(model, request);
  return text ? std::move(*text) : std::string();
}

Json response_body(const AnswerForm& form, const Envelope& envelope,
                   std::span<const Request* const> requests,
                   std::span<const std::vector<Completion>> completions, const Model& model,
                   bool cached) {
  if (form.endpoint == Endpoint::kEmbeddings) return embeddings_body(form, envelope, completions);
  const bool chat = form.endpoint == Endpoint::kChat;
  Json body = head(form, envelope, /*chunk=*/false);
  Json& choices = body["choices"] = Json::array();
  for (size_t i = 0; i < completions.size(); ++i)
    for (const Completion& completion : completions[i]) {
      Json choice = chat ? chat_choice(form, *requests[i], completion, model)
                         : completion_choice(form, *requests[i], completion, model);
      choice["index"] = choices.size();
      choice["finish_reason"] = finish_reason(form, completion);
      if (!envelope.warning.empty()) choice["wrong"] = envelope.warning;
      choices.push_back(std::move(choice));
    }
  body["usage"] = UsageCounts(completions).json(cached);
  return body;
}

}  // namespace pando::ask
