#include "ask/body.h"

#include <iterator>
#include <utility>

#include "ask/errors.h"
#include "ask/usage.h"
#include "base/errors.h"
#include "base/json.h"

namespace pando::ask {

Status Bounds::add(size_t n_requests, size_t bytes_each) {
  n_requests_ += n_requests;
  if (n_requests_ > kMostRequests)
    return invalid_argument("the request asks for more than {0} answers, expected at most {0}",
                            kMostRequests);
  n_bytes_ += n_requests * bytes_each;
  if (has_too_many_bytes())
    return invalid_argument(
        "the prompts together take more than {} MiB (what they share counts once for each prompt), "
        "expected fewer or shorter prompts",
        most_bytes_ >> 20);
  return {};
}

Status Body::add_question(const BodyContext& context, Question question) {
  if (context.given_up()) return given_up();
  const size_t first = requests.size();
  if (contexts.empty() && question.choices.empty()) {
    requests.push_back(question.request);
  } else {
    Result<std::vector<Request>> made = requests_of(context.model, question);
    if (!made) return made.error();
    std::move(made->begin(), made->end(), std::back_inserter(requests));
  }
  completions_.add_question(std::span(requests).subspan(first));
  question.request.prompt = {};
  question.request.tokens = {};
  question.request.messages = {};
  question.request.chat = {};
  question.request.sampling.logit_bias = {};
  question.request.sampling.stop = {};
  question.request.sampling.stop_tokens = {};
  question.request.sampling.form = {};
  questions.push_back(std::move(question));
  warn_of_forms(context.model, first);
  return {};
}

void Body::warn_of_forms(const Model& model, size_t first) {
  for (size_t i = first; i < requests.size(); ++i) {
    const std::optional<TextForm>& form = requests[i].sampling.form;
    if (!form || (i > 0 && form == requests[i - 1].sampling.form)) continue;
    for (const std::string& warning : model.form_warnings(*form)) warn(form_place(i), warning);
  }
}

void Body::warn(const std::string& field, const std::string& text) {
  if (text.empty()) return;
  std::string told = fmt::format("{}: {}", field, text);
  if (told_.insert(told).second) warnings_.push_back(std::move(told));
}

void Body::add_warnings(Json& answer) const {
  if (has_warnings()) answer["warnings"] = warnings_;
}

std::string Body::on_event(size_t request, Event event) {
  std::string events;
  if (stream) events = write_event(request, event);
  if (event.completion && completions_.add_completion(request, std::move(*event.completion)) &&
      stream)
    events += write_answers(completions_.question_of(request));
  return events;
}

uint64_t Body::n_of(int Completion::*count, size_t n_alike) const {
  uint64_t n_tokens = 0;
  size_t n_asked = 0;
  for (const std::vector<Completion>& completion : completions_.all())
    for (size_t i = 0; i <= completion[0].alternatives.size(); ++i)
      if (n_asked++ % n_alike == 0) n_tokens += static_cast<uint64_t>(completion[0].*count);
  return n_tokens;
}

void Body::add_prompt_usage(Json& answer, size_t n_alike) const {
  const uint64_t n_tokens = n_of(&Completion::prompt_tokens, n_alike);
  answer["usage"] = {{"prompt_tokens", n_tokens}, {"total_tokens", n_tokens}};
  if (const uint64_t n_cut = n_of(&Completion::cut_tokens, n_alike); n_cut > 0)
    answer["usage"]["cut_tokens"] = n_cut;
  if (serving.sharing) answer["sharing"] = SharingCounts(completions_.all()).json();
}

}  // namespace pando::ask
