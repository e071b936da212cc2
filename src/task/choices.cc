#include "task/choices.h"

#include <algorithm>
#include <utility>

#include "api/prompt.h"
#include "base/errors.h"
#include "base/mix.h"
#include "pando/score.h"

namespace pando {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// A choice as a model writes it: "Answer:" continues with " blue".
std::string behind(const std::string& prompt, const std::string& choice) {
  const bool apart = is_space(choice.front()) || (!prompt.empty() && is_space(prompt.back()));
  return apart ? choice : " " + choice;
}

}  // namespace

Status check_choices(const Request& question, std::span<const std::string> choices) {
  for (size_t i = 0; i < choices.size(); ++i)
    if (choices[i].empty())
      return blame(place_in("choices", i),
                   invalid_argument("choice {} is empty, expected at least one character", i));
  if (question.sampling.n != 1)
    return blame("n", invalid_argument("n is {}, expected 1 for a question with choices",
                                       question.sampling.n));
  if (question.prompt_logprobs_from)
    return blame("prompt_logprobs",
                 invalid_argument("'prompt_logprobs' cannot be combined with 'choices'"));
  if (question.truncate_prompt_tokens > 0)
    return blame("truncate_prompt_tokens",
                 invalid_argument("'truncate_prompt_tokens' cannot be combined with 'choices'"));
  if (!question.tokens.empty())
    return invalid_argument("'tokens' cannot be combined with 'choices'");
  return {};
}

Result<std::vector<Request>> choice_requests(const Model& model, const Request& question,
                                             const std::vector<std::string>& choices) {
  if (Status status = check_choices(question, choices); !status) return status.error();
  const bool is_chat = !question.messages.empty();
  std::string prompt = question.prompt;
  std::string_view opening;
  if (is_chat) {
    Result<std::string> rendered = model.render_chat(question.messages, question.chat);
    if (!rendered) return rendered.error();
    prompt = std::move(*rendered);
    opening = opening_of_content(model, prompt);
    prompt += opening;
  }
  std::vector<std::string> texts;
  for (const std::string& choice : choices)
    texts.push_back(opening.empty() ? behind(prompt, choice) : choice);
  Result<std::vector<Request>> requests =
      continuation_requests(model, prompt, texts, question.add_special_tokens.value_or(!is_chat));
  if (!requests) return requests.error();
  *requests = joined(std::move(*requests));
  for (Request& request : *requests) {
    request.id = question.id;
    request.isolation_key = question.isolation_key;
    request.logits_hash = question.logits_hash;
    request.sampling.top_logprobs = question.sampling.top_logprobs;
  }
  return requests;
}

size_t likeliest(std::span<const double> logprobs) {
  return static_cast<size_t>(std::ranges::max_element(logprobs) - logprobs.begin());
}

size_t likeliest_per(Per unit, std::span<const std::string> choices,
                     std::span<const double> logprobs) {
  const auto counts = [&](char c) { return unit == Per::kByte || (c & 0xc0) != 0x80; };
  std::vector<double> each;
  for (size_t i = 0; i < logprobs.size(); ++i) {
    auto begin = std::ranges::find_if_not(choices[i], is_space);
    if (begin == choices[i].end()) begin = choices[i].begin();
    each.push_back(logprobs[i] /
                   static_cast<double>(std::count_if(begin, choices[i].end(), counts)));
  }
  return likeliest(each);
}

Completion likeliest_choice(const std::vector<std::string>& choices,
                            std::span<const std::vector<Completion>> completions) {
  const std::vector<Completion> scored = taken_apart(completions);
  Completion answer{.finish_reason = FinishReason::kStop};
  int n_shared = scored.front().shared_tokens;  // with others than the other choices
  for (const Completion& completion : scored) {
    n_shared = std::min(n_shared, completion.shared_tokens);
    answer.choice_logprobs.push_back(continuation_score(completion).logprob);
    answer.logits_hash = mix64(answer.logits_hash ^ completion.logits_hash);
  }
  const size_t best = likeliest(answer.choice_logprobs);
  answer.text = choices[best];
  answer.logprobs = scored[best].prompt_logprobs;
  for (const TokenLogprob& token : answer.logprobs) answer.tokens.push_back(token.token);
  answer.prompt_tokens = scored[best].prompt_tokens - static_cast<int>(answer.tokens.size());
  answer.cut_tokens = scored[best].cut_tokens;
  answer.shared_tokens = std::min(n_shared, answer.prompt_tokens);
  return answer;
}

}  // namespace pando
