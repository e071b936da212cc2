#include "pando/stream.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>

#include "base/errors.h"

namespace pando {

struct Stream::State {
  Engine* engine = nullptr;
  RequestId id = 0;
  int n_open = 0;  // answers not complete, as the consumer has seen it
  std::mutex mutex;
  std::condition_variable arrived;
  std::deque<Event> events;
  bool is_lossy = false;  // there was no memory for an event

  void put(const Event& event) noexcept {
    {
      const std::lock_guard lock(mutex);
      try {
        if (!is_lossy) events.push_back(event);
      } catch (const std::bad_alloc&) {
        is_lossy = true;
      }
    }
    arrived.notify_one();
  }
};

Stream::Stream(std::shared_ptr<State> state) : state_(std::move(state)) {}
Stream::Stream(Stream&&) noexcept = default;

Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

Stream::~Stream() {
  if (state_ && state_->n_open > 0) state_->engine->cancel(state_->id);
}

Result<Stream> Stream::open(Engine& engine, Request request) {
  auto state = std::make_shared<State>();
  state->engine = &engine;
  state->n_open = request.sampling.n;
  Result<RequestId> id =
      engine.submit(std::move(request), [state](const Event& event) { state->put(event); });
  if (!id) return id.error();
  state->id = *id;
  return Stream(std::move(state));
}

std::optional<Event> Stream::next() {
  if (state_->n_open == 0) return std::nullopt;
  std::unique_lock lock(state_->mutex);
  state_->arrived.wait(lock, [&] { return state_->is_lossy || !state_->events.empty(); });
  if (state_->events.empty()) {
    Event lost{.request = state_->id, .error = no_memory()};
    lock.unlock();
    state_->n_open = 0;
    state_->engine->cancel(state_->id);
    return lost;
  }
  Event event = std::move(state_->events.front());
  state_->events.pop_front();
  if (event.error) {
    state_->n_open = 0;
  } else if (event.completion) {
    --state_->n_open;
  }
  return event;
}

}  // namespace pando
