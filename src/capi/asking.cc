#include "capi/asking.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <tuple>
#include <utility>

#include "pando/score.h"
#include "task/choices.h"

namespace pando::capi {

struct Asking::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::pair<size_t, Event>> events;  // and the part each belongs to
  std::vector<RequestId> ids;
  bool cancelled = false;
};

Asking::Asking(std::shared_ptr<Engine> engine, std::vector<Question> questions)
    : engine_(std::move(engine)),
      questions_(std::move(questions)),
      scored_(questions_.size()),
      n_scored_(questions_.size()),
      state_(std::make_shared<State>()) {
  for (size_t i = 0; i < questions_.size(); ++i) {
    Question& question = questions_[i];
    first_.push_back(n_questions_);
    n_questions_ += question.choices.empty() ? 1 + question.requests[0].alternatives.size() : 1;
    scored_[i].resize(question.requests.size());
    for (Request& request : question.requests) parts_.push_back({i, std::move(request)});
  }
}

void Asking::cancel() {
  std::vector<RequestId> ids;
  {
    std::lock_guard lock(state_->mutex);
    state_->cancelled = true;
    ids.swap(state_->ids);
  }
  for (const RequestId id : ids) engine_->cancel(id);
  state_->changed.notify_all();
}

Error Asking::end(const Error& error) {
  error_ = error;
  cancel();
  return error;
}

Status Asking::submit_some() {
  const size_t n_most = static_cast<size_t>(engine_->options().max_open);
  while (next_part_ < parts_.size()) {
    Part& part = parts_[next_part_];
    const size_t n = static_cast<size_t>(std::max(1, part.request.sampling.n));
    if (n_open_ > 0 && n_open_ + n > n_most) return {};
    if (refused_at_ && n_open_ >= *refused_at_) return {};
    Result<RequestId> id =
        engine_->submit(part.request, [state = state_, i = next_part_](const Event& event) {
          {
            std::lock_guard lock(state->mutex);
            if (!state->cancelled) state->events.emplace_back(i, event);
          }
          state->changed.notify_all();
        });
    if (!id) {
      if (id.error().code != ErrorCode::kUnavailable || n_open_ == 0) return id.error();
      refused_at_ = n_open_;
      return {};
    }
    refused_at_.reset();
    part.request = {};  // the engine has it now
    n_open_ += n;
    ++next_part_;
    std::unique_lock lock(state_->mutex);
    if (!state_->cancelled) {
      state_->ids.push_back(*id);
      continue;
    }
    lock.unlock();
    engine_->cancel(*id);
    return {};
  }
  return {};
}

void Asking::hear(size_t part, Event event) {
  const size_t index = parts_[part].question;
  const std::vector<std::string>& choices = questions_[index].choices;
  if (choices.empty()) {
    if (!event.completion || event.completion->alternatives.empty())
      return void(told_.emplace_back(first_[index], std::move(event)));
    const std::vector<std::vector<Completion>> joint = {{std::move(*event.completion)}};
    size_t at = first_[index];
    for (Completion& one : taken_apart(joint)) {
      event.completion = std::move(one);
      told_.emplace_back(at++, event);
    }
    return;
  }
  if (!event.completion) return;
  size_t first = part;
  while (first > 0 && parts_[first - 1].question == index) --first;
  scored_[index][part - first] = {std::move(*event.completion)};
  if (++n_scored_[index] < scored_[index].size()) return;
  event.choice = 0;
  event.completion = likeliest_choice(choices, scored_[index]);
  event.text = event.completion->text;
  told_.emplace_back(first_[index], std::move(event));
}

Result<Asking::What> Asking::next(Deadline deadline, Event& event, size_t& question) {
  if (error_) return *error_;
  for (;;) {
    if (told_.empty() && n_open_ == 0 && next_part_ == parts_.size()) return What::kEnd;
    std::unique_lock lock(state_->mutex);
    if (state_->cancelled) return What::kCancelled;
    lock.unlock();
    // What is refused stays, and is tried again when all that is here has been told.
    const Status status = submit_some();
    if (!status && told_.empty()) return end(status.error());
    if (!told_.empty()) {
      std::tie(question, event) = std::move(told_.front());
      told_.pop_front();
      return What::kEvent;
    }
    lock.lock();
    const auto ready = [&] { return state_->cancelled || !state_->events.empty(); };
    if (!deadline) {
      state_->changed.wait(lock, ready);
    } else if (!state_->changed.wait_until(lock, *deadline, ready)) {
      return What::kTimeout;
    }
    if (state_->cancelled) return What::kCancelled;
    auto [part, arrived] = std::move(state_->events.front());
    state_->events.pop_front();
    lock.unlock();
    if (arrived.error) return end(*arrived.error);
    if (arrived.completion) --n_open_;
    hear(part, std::move(arrived));
  }
}

}  // namespace pando::capi
