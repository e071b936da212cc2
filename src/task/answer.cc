#include "pando/answer.h"

#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include "api/prompt.h"
#include "base/errors.h"
#include "task/choices.h"
#include "task/fill_in.h"

namespace pando {

std::string AnswerOptions::default_prompt_template(bool has_instruction) {
  return std::string(has_instruction ? "{instruction}\n\n" : "") +
         "{context}\n\nQuestion: {question}\nAnswer:";
}

std::string AnswerOptions::template_text() const {
  return prompt_template ? *prompt_template
                         : default_prompt_template(!instruction.empty() && !chat);
}

Status check_template(const AnswerOptions& options) {
  return check_field(options.template_text(), "{question}");
}

Status check_chat(const Model& model, const AnswerOptions& options) {
  if (!options.chat) return {};
  return check_conversation(model, question_request(options, "", ""));
}

std::string render_prompt(const AnswerOptions& options, const std::string& context,
                          const std::string& question) {
  return fill_in(
      options.template_text(),
      {{"{instruction}", options.instruction}, {"{context}", context}, {"{question}", question}});
}

Request question_request(const AnswerOptions& options, const std::string& context,
                         const std::string& question) {
  Request request;
  request.sampling = options.sampling;
  if (options.prompt_logprobs) request.prompt_logprobs_from = 1;
  request.logits_hash = options.logits_hash;
  request.add_special_tokens = options.add_special_tokens;
  if (!options.chat) {
    request.prompt = render_prompt(options, context, question);
    return request;
  }
  request.chat = options.chat_options;
  if (!options.instruction.empty()) request.messages.push_back({"system", options.instruction});
  AnswerOptions without = options;
  without.instruction.clear();
  request.messages.push_back({"user", render_prompt(without, context, question)});
  return request;
}

Result<std::vector<std::vector<Completion>>> answer(Engine& engine, const std::string& context,
                                                    const std::vector<std::string>& questions,
                                                    const AnswerOptions& options) {
  if (Status status = check_template(options); !status) return status.error();
  std::vector<Request> requests;
  std::vector<size_t> n_of;  // [questions] requests
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
    n_of.push_back(scoring->size());
    std::move(scoring->begin(), scoring->end(), std::back_inserter(requests));
  }
  auto completions = engine.complete_all(std::move(requests));
  if (!completions || options.choices.empty()) return completions;

  std::vector<std::vector<Completion>> answers;
  size_t first = 0;
  for (const size_t n : n_of) {
    answers.push_back(
        {likeliest_choice(options.choices, std::span(*completions).subspan(first, n))});
    first += n;
  }
  return answers;
}

}  // namespace pando
