#include "ask/body.h"

#include <iterator>
#include <utility>

#include "ask/errors.h"
#include "ask/stream_event.h"
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
  if (contexts.empty() && question.choices.empty() && !question.classified) {
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

bool Body::was_told(size_t request, const Event& event) const {
  const auto choice = static_cast<size_t>(event.choice);
  if (event.n_tokens == 0) return told_without_tokens_.contains({request, choice});
  const std::vector<std::vector<Token>>& begun = requests[request].begun;
  return choice < begun.size() && event.n_tokens <= begun[choice].size();
}

std::string Body::on_event(size_t request, Event event) {
  std::string events;
  if (stream) {
    const std::string text = write_event(request, event);
    if (!was_told(request, event)) {
      if (tells_tokens && !(text.empty() && event.tokens.empty()))
        events = tokens_comment(request, static_cast<size_t>(event.choice), event.tokens);
      events += text;
    }
  }
  if (!event.completion || !completions_.add_completion(request, std::move(*event.completion)) ||
      !stream)
    return events;
  const size_t question = completions_.question_of(request);
  const size_t first = completions_.first_request(question);
  const auto n = static_cast<size_t>(requests[first].sampling.n);
  const std::string text = write_answers(question);
  if (text.empty() || told_without_tokens_.contains({first, n})) return events;
  if (tells_tokens) events += tokens_comment(first, n, {});
  return events + text;
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
