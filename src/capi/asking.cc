#include "capi/asking.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

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
    scored_[i].resize(questions_[i].choices.size());
    for (Request& request : questions_[i].requests) parts_.push_back({i, std::move(request)});
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

std::optional<Event> Asking::heard(size_t part, Event event) {
  const size_t index = parts_[part].question;
  const std::vector<std::string>& choices = questions_[index].choices;
  if (choices.empty()) return event;
  if (!event.completion) return std::nullopt;
  size_t first = part;
  while (first > 0 && parts_[first - 1].question == index) --first;
  scored_[index][part - first] = std::move(*event.completion);
  if (++n_scored_[index] < choices.size()) return std::nullopt;
  event.choice = 0;
  event.completion = likeliest_choice(choices, scored_[index]);
  event.text = event.completion->text;
  return event;
}

Result<Asking::What> Asking::next(Deadline deadline, Event& event, size_t& question) {
  if (error_) return *error_;
  for (;;) {
    if (n_open_ == 0 && next_part_ == parts_.size()) return What::kEnd;
    std::unique_lock lock(state_->mutex);
    if (state_->cancelled) return What::kCancelled;
    lock.unlock();
    if (Status status = submit_some(); !status) return end(status.error());
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
    question = parts_[part].question;
    std::optional<Event> shown = heard(part, std::move(arrived));
    if (!shown) continue;
    event = std::move(*shown);
    return What::kEvent;
  }
}

}  // namespace pando::capi
