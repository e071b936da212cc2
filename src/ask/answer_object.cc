#include "ask/answer_object.h"

#include <fmt/format.h>

#include "ask/line.h"
#include "ask/logprobs.h"
#include "ask/openai_response.h"
#include "base/json.h"

namespace pando::ask {
namespace {

Json logprobs_json(const std::vector<TokenLogprob>& tokens) {
  Json list = Json::array();
  for (const TokenLogprob& token : tokens) list.push_back(printed(token.logprob));
  return list;
}

// For each token, the likeliest ones in its place.
Json top_json(const std::vector<TokenLogprob>& tokens, const Model& model) {
  Json list = Json::array();
  for (const TokenLogprob& token : tokens) {
    Json places = Json::array();
    for (const auto& [id, logprob] : token.top) {
      Json place = {{"token", id}};
      if (const Result<std::string> text = model.decode(std::span(&id, 1)); text)
        place["text"] = *text;
      place["logprob"] = printed(logprob);
      places.push_back(std::move(place));
    }
    list.push_back(std::move(places));
  }
  return list;
}

}  // namespace

Json answer_object(const Job& job, const Question& question, const Completion& completion,
                   const Model& model) {
  const SamplingOptions& sampling = question.request.sampling;
  Json object = Json::object();
  if (question.id) object["question_id"] = question.id_json;
  if (job.contexts.size() > 1) {
    object["part"] = question.part;
    object["parts"] = job.contexts.size();
  }
  if (sampling.n > 1) object["choice"] = completion.choice;
  if (!job.warning.empty()) object["wrong"] = job.warning;
  object["text"] = completion.text;
  if (!completion.reasoning.empty()) object["reasoning"] = completion.reasoning;
  if (!completion.calls.empty()) object["tool_calls"] = tool_calls(completion.calls);
  if (!model.has_tokenizer()) object["tokens"] = completion.tokens;
  object["finish_reason"] = finish_reason_name(completion.finish_reason);
  object["prompt_tokens"] = completion.prompt_tokens;
  object["completion_tokens"] = completion.tokens.size();
  if (sampling.logprobs) {
    object["logprobs"] = logprobs_json(completion.logprobs);
    if (sampling.top_logprobs > 0) object["top_logprobs"] = top_json(completion.logprobs, model);
  }
  if (!completion.prompt_logprobs.empty()) {
    object["prompt_logprobs"] = logprobs_json(completion.prompt_logprobs);
    if (sampling.top_logprobs > 0)
      object["prompt_top_logprobs"] = top_json(completion.prompt_logprobs, model);
  }
  if (!completion.choice_logprobs.empty()) object["choice_logprobs"] = completion.choice_logprobs;
  if (question.request.logits_hash)
    object["logits_hash"] = fmt::format("{:016x}", completion.logits_hash);
  if (!question.metadata.empty()) object["metadata"] = question.metadata;
  return object;
}

}  // namespace pando::ask
