#include "pando/answer.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

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
  // Shared with the listeners, which may outlive this call when it ends early.
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<std::vector<Completion>> answers;
    size_t n_open = 0;
    std::optional<Error> error;
  };
  auto state = std::make_shared<State>();
  state->answers.resize(questions.size());
  state->n_open = questions.size() * static_cast<size_t>(std::max(0, options.sampling.n));
  std::vector<RequestId> ids;
  for (size_t i = 0; i < questions.size(); ++i) {
    Request request = question_request(options, context, questions[i]);
    request.id = std::to_string(i);
    Result<RequestId> id =
        engine.submit(std::move(request), [state, i, n = options.sampling.n](const Event& event) {
          if (!event.completion && !event.error) return;
          std::lock_guard lock(state->mutex);
          if (event.error) {
            state->error = event.error;
          } else {
            state->answers[i].resize(n);  // n was checked
            state->answers[i][event.choice] = *event.completion;
            --state->n_open;
          }
          state->changed.notify_one();
        });
    if (!id) {
      for (const RequestId open : ids) engine.cancel(open);
      return id.error();
    }
    ids.push_back(*id);
  }
  std::unique_lock lock(state->mutex);
  state->changed.wait(lock, [&] { return state->n_open == 0 || state->error; });
  if (state->error) {
    const Error error = *state->error;
    lock.unlock();
    for (const RequestId open : ids) engine.cancel(open);
    return error;
  }
  return std::move(state->answers);
}

}  // namespace pando
