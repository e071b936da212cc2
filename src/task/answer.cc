#include "pando/answer.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include "task/choices.h"

namespace pando {

std::string AnswerOptions::default_prompt_template() {
  return "{instruction}{context}\n\nQuestion: {question}\nAnswer:";
}

namespace {

std::string fill_in(std::string_view text, const std::string& instruction,
                    const std::string& context, const std::string& question) {
  const std::pair<std::string_view, const std::string&> fields[] = {
      {"{instruction}", instruction}, {"{context}", context}, {"{question}", question}};
  std::string prompt;
  for (size_t at = 0; at < text.size();) {
    size_t taken = 0;
    for (const auto& [name, value] : fields) {
      if (!text.substr(at).starts_with(name)) continue;
      prompt += value;
      taken = name.size();
    }
    if (taken == 0) prompt += text[at];
    at += std::max<size_t>(taken, 1);
  }
  return prompt;
}

}  // namespace

std::string render_prompt(const AnswerOptions& options, const std::string& context,
                          const std::string& question) {
  return fill_in(options.prompt_template,
                 options.instruction.empty() ? "" : options.instruction + "\n\n", context,
                 question);
}

Request question_request(const AnswerOptions& options, const std::string& context,
                         const std::string& question) {
  Request request;
  request.sampling = options.sampling;
  if (options.prompt_logprobs) request.prompt_logprobs_from = 1;
  request.logits_hash = options.logits_hash;
  if (!options.chat) {
    request.prompt = render_prompt(options, context, question);
    return request;
  }
  request.chat = options.chat_options;
  if (!options.instruction.empty()) request.messages.push_back({"system", options.instruction});
  request.messages.push_back({"user", fill_in(options.prompt_template, "", context, question)});
  return request;
}

Result<std::vector<std::vector<Completion>>> answer(Engine& engine, const std::string& context,
                                                    const std::vector<std::string>& questions,
                                                    const AnswerOptions& options) {
  std::vector<Request> requests;
  for (size_t i = 0; i < questions.size(); ++i) {
    Request request = question_request(options, context, questions[i]);
    request.id = std::to_string(i);
    if (options.choices.empty()) {
      requests.push_back(std::move(request));
      continue;
    }
    Result<std::vector<Request>> scoring =
        choice_requests(engine.model(), request, options.choices);
    if (!scoring) return scoring.error();
    std::move(scoring->begin(), scoring->end(), std::back_inserter(requests));
  }
  auto completions = engine.complete_all(std::move(requests));
  if (!completions || options.choices.empty()) return completions;

  std::vector<Completion> scored;
  for (std::vector<Completion>& completion : *completions)
    scored.push_back(std::move(completion[0]));
  std::vector<std::vector<Completion>> answers;
  for (size_t i = 0; i < questions.size(); ++i)
    answers.push_back(
        {likeliest_choice(options.choices, std::span(scored).subspan(i * options.choices.size(),
                                                                     options.choices.size()))});
  return answers;
}

}  // namespace pando
