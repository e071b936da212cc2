// Waiting for whole answers.
#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "pando/engine.h"
#include "pando/stream.h"

namespace pando {

Result<std::vector<Completion>> Engine::complete(Request request) {
  const int n = request.sampling.n;
  Result<Stream> stream = Stream::open(*this, std::move(request));
  if (!stream) return stream.error();
  std::vector<Completion> completions(n);  // n was checked
  while (std::optional<Event> event = stream->next()) {
    if (event->error) return *event->error;
    if (event->completion) completions[event->choice] = std::move(*event->completion);
  }
  return completions;
}

namespace {

// Shared with the listeners, which may outlive a call that ends early.
class Waiting {
 public:
  explicit Waiting(size_t n_requests) : answers_(n_requests) {}

  void hear(size_t index, size_t n, const Event& event) {
    std::lock_guard lock(mutex_);
    if (event.error) {
      error_ = event.error;
    } else {
      answers_[index].resize(n);
      answers_[index][event.choice] = *event.completion;
      --n_open_;
    }
    changed_.notify_one();
  }
  void add(int64_t n) {
    std::lock_guard lock(mutex_);
    n_open_ += n;
  }
  int64_t n_open() const {
    std::lock_guard lock(mutex_);
    return n_open_;
  }
  // Until at most so many answers are open, or an error was heard.
  std::optional<Error> wait(int64_t n_most) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return n_open_ <= n_most || error_; });
    return error_;
  }
  std::vector<std::vector<Completion>> take() {
    std::lock_guard lock(mutex_);
    return std::move(answers_);
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::vector<Completion>> answers_;
  int64_t n_open_ = 0;  // answers
  std::optional<Error> error_;
};

}  // namespace

Result<std::vector<std::vector<Completion>>> Engine::complete_all(std::vector<Request> requests) {
  auto waiting = std::make_shared<Waiting>(requests.size());
  std::vector<RequestId> ids;
  const auto fail = [&](const Error& error) {
    for (const RequestId id : ids) cancel(id);
    return error;
  };
  Hold held = hold();
  for (size_t i = 0; i < requests.size(); ++i) {
    const int64_t n = std::max(0, requests[i].sampling.n);
    for (int64_t n_most = std::max<int64_t>(0, options().max_open - n);;) {
      if (waiting->n_open() > n_most) held.reset();  // what is waited for has to run
      if (const std::optional<Error> error = waiting->wait(n_most)) return fail(*error);
      const int64_t n_before = waiting->n_open();
      waiting->add(n);
      Result<RequestId> id = submit(requests[i], [waiting, i, n](const Event& event) {
        if (event.completion || event.error) waiting->hear(i, n, event);
      });
      if (id) {
        ids.push_back(*id);
        break;
      }
      waiting->add(-n);
      // Where others fill the engine too: again after an answer of ours.
      n_most = n_before - 1;
      if (id.error().code != ErrorCode::kUnavailable || n_most < 0) return fail(id.error());
    }
  }
  held.reset();
  if (const std::optional<Error> error = waiting->wait(0)) return fail(*error);
  return waiting->take();
}

}  // namespace pando
