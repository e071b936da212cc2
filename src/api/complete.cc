// Engine::complete and complete_all: requests whose answers are waited for.
#include <utility>

#include "api/request_group.h"
#include "api/waker.h"

namespace pando {

Result<std::vector<Completion>> Engine::complete(Request request) {
  std::vector<Request> one;
  one.push_back(std::move(request));
  Result<std::vector<std::vector<Completion>>> answers = complete_all(std::move(one));
  if (!answers) return answers.error();
  return std::move(answers->front());
}

Result<std::vector<std::vector<Completion>>> Engine::complete_all(std::vector<Request> requests) {
  std::vector<std::vector<Completion>> answers(requests.size());
  std::vector<int> n_of;  // [requests] answers
  Waker waker;
  Hold held = hold();  // what the group cancels before this ends is never computed
  RequestGroup group(*this, {.on_news = [&] { waker.wake(); }});
  for (Request& request : requests) {
    n_of.push_back(request.sampling.n);
    group.add(std::move(request));
  }
  while (!group.is_over()) {
    group.submit();
    std::vector<News> news = group.take();
    for (News& one : news) {
      if (one.event.error) return *one.event.error;
      std::vector<Completion>& completions = answers[one.request];
      completions.resize(static_cast<size_t>(n_of[one.request]));
      completions[static_cast<size_t>(one.event.choice)] = std::move(*one.event.completion);
    }
    if (!news.empty()) continue;
    held.reset();  // what is waited for has to run
    waker.wait(group.retry_at());
  }
  return answers;
}

}  // namespace pando
