#include "api/request_group.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <mutex>
#include <utility>

#include "base/errors.h"

namespace pando {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kAnyTurns = SIZE_MAX;  // until one is refused
constexpr std::chrono::milliseconds kRetryAfter{50};

int answers_of(const Request& request) { return std::max(request.sampling.n, 1); }

}  // namespace

struct RequestGroup::Shared {
  std::mutex mutex;
  std::vector<GroupEvent> events;
  std::map<size_t, RequestId> in_engine;  // for cancel_all
  std::function<void()> on_events;        // called with the lock; null once the group is gone
  bool is_told = false;                   // since the events were taken
  bool is_lossy = false;  // there was no memory for an event; later events are not kept
  bool is_cancelled = false;

  void put(size_t request, Event event) noexcept {
    const std::lock_guard lock(mutex);
    if (!on_events || is_cancelled) return;
    try {
      if (!is_lossy) events.push_back({request, std::move(event), Clock::now()});
    } catch (const std::exception&) {
      is_lossy = true;
    }
    tell();
  }
  // With the lock.
  void tell() noexcept {
    if (is_told) return;
    try {
      on_events();
      is_told = true;
    } catch (const std::exception&) {  // with the next event
    }
  }
};

RequestGroup::RequestGroup(Engine& engine, Options options)
    : engine_(engine),
      options_(std::move(options)),
      shared_(std::make_shared<Shared>()),
      n_turns_(kAnyTurns) {
  if (options_.max_open == 0) options_.max_open = engine.options().max_open;
  shared_->on_events = std::exchange(options_.on_events, nullptr);
  if (!shared_->on_events) shared_->on_events = [] {};
}

RequestGroup::~RequestGroup() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->on_events = nullptr;
    shared_->events.clear();
  }
  for (const auto& [index, entry] : requests_) {
    if (entry.n_open > 0) engine_.cancel(entry.id);
  }
}

size_t RequestGroup::add(std::shared_ptr<const Request> request) {
  requests_[n_added_].request = std::move(request);
  to_submit_.insert(to_submit_.end(), n_added_);
  return n_added_++;
}

void RequestGroup::add_turn() {
  if (n_turns_ < kAnyTurns) ++n_turns_;
}

Result<RequestId> RequestGroup::submit_one(size_t index) {
  const Request& request = *requests_.at(index).request;
  auto listener = [shared = shared_, index, wants_text = options_.wants_text](Event event) {
    if (wants_text || event.completion || event.error) shared->put(index, std::move(event));
  };
  return options_.checked ? engine_.submit_checked(request, std::move(listener))
                          : engine_.submit(request, std::move(listener));
}

void RequestGroup::submit() {
  if (n_turns_ == 0 && n_in_engine() == 0 && Clock::now() >= refused_at_ + kRetryAfter)
    n_turns_ = 1;
  // An idle engine begins when it has all of these: it then knows where their prompts part.
  const Engine::Hold hold = to_submit_.size() > 1 ? engine_.hold() : nullptr;
  while (n_turns_ > 0 && !to_submit_.empty() && !is_cancelled()) {
    const size_t index = *to_submit_.begin();
    Entry& entry = requests_.at(index);
    const int n_answers = answers_of(*entry.request);
    if (n_in_engine() > 0 && n_open_ + n_answers > options_.max_open) return;
    {  // before it is there, so that nothing that fails can hide it from cancel_all
      const std::lock_guard lock(shared_->mutex);
      shared_->in_engine[index] = 0;
    }
    const Result<RequestId> id = submit_one(index);
    if (!id) {
      {
        const std::lock_guard lock(shared_->mutex);
        shared_->in_engine.erase(index);
      }
      const bool is_refused = id.error().code == ErrorCode::kUnavailable &&
                              (options_.waits_for_room || has_begun_ || n_in_engine() > 0);
      if (is_refused) {
        n_turns_ = 0;
        refused_at_ = Clock::now();
      } else {
        found_.push_back({index, Event{.error = id.error()}, Clock::now()});
        to_submit_.erase(index);
        requests_.erase(index);
      }
      return;
    }
    entry.place = to_submit_.extract(index);
    entry.id = *id;
    entry.n_open = n_answers;
    n_open_ += n_answers;
    if (!options_.wants_text && engine_.options().max_queue == 0) entry.request = nullptr;
    if (n_turns_ < kAnyTurns) --n_turns_;
    std::unique_lock lock(shared_->mutex);
    if (!shared_->is_cancelled) {
      shared_->in_engine[index] = *id;
      continue;
    }
    lock.unlock();
    engine_.cancel(*id);
  }
}

bool RequestGroup::note(const GroupEvent& one) noexcept {
  const auto found = requests_.find(one.request);
  if (found == requests_.end()) return false;  // cancelled
  Entry& entry = found->second;
  if (!one.event.error) {
    has_begun_ = true;
    if (!std::exchange(entry.has_begun, true)) {
      entry.request = nullptr;
      add_turn();
    }
    if (!one.event.completion) return true;
    --n_open_;
    if (--entry.n_open > 0) return true;
    add_turn();
  } else {
    n_open_ -= std::exchange(entry.n_open, 0);
    // A request that lacked memory is not tried again: it would take memory from others.
    const bool is_refused = one.event.error->code == ErrorCode::kUnavailable &&
                            !is_no_memory(*one.event.error) && entry.request;
    if (is_refused) {
      to_submit_.insert(std::move(entry.place));
      n_turns_ = 0;  // until the next begins or ends
      refused_at_ = Clock::now();
      if (options_.waits_for_room || has_begun_ || n_in_engine() > 0) return false;
      to_submit_.erase(one.request);
    }
  }
  requests_.erase(found);
  const std::lock_guard lock(shared_->mutex);
  shared_->in_engine.erase(one.request);
  return true;
}

// Fails open requests, since the event that completes them may be lost. If it throws, the next call
// goes on.
void RequestGroup::fail_open() {
  for (auto next = requests_.begin(); next != requests_.end();) {
    const auto open = next++;
    if (open->second.n_open == 0) continue;
    found_.push_back({open->first, Event{.error = no_memory()}, Clock::now()});
    end(open->first);
  }
  const std::lock_guard lock(shared_->mutex);
  shared_->is_lossy = false;
}

// If this throws, the next call finds all events.
std::vector<GroupEvent> RequestGroup::take() {
  std::vector<GroupEvent> taken;
  bool is_lossy = false;
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->is_cancelled) {
      found_.clear();
      return {};
    }
    if (!found_.empty()) found_.reserve(found_.size() + shared_->events.size());
    shared_->is_told = false;
    taken.swap(shared_->events);
    is_lossy = shared_->is_lossy;
  }
  std::erase_if(taken, [&](const GroupEvent& one) { return !note(one); });
  if (found_.empty()) {
    found_ = std::move(taken);
  } else {  // there is room
    std::ranges::move(taken, std::back_inserter(found_));
  }
  if (is_lossy) fail_open();
  return std::exchange(found_, {});
}

std::optional<Clock::time_point> RequestGroup::retry_at() const {
  if (n_turns_ > 0 || to_submit_.empty() || n_in_engine() > 0) return std::nullopt;
  return refused_at_ + kRetryAfter;
}

void RequestGroup::cancel(size_t request) {
  std::erase_if(found_, [&](const GroupEvent& one) { return one.request == request; });
  end(request);
}

void RequestGroup::end(size_t request) {
  const auto found = requests_.find(request);
  if (found == requests_.end()) return;
  const Entry entry = std::move(found->second);
  requests_.erase(found);
  to_submit_.erase(request);
  if (entry.n_open == 0) return;
  n_open_ -= entry.n_open;
  add_turn();
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->in_engine.erase(request);
  }
  engine_.cancel(entry.id);
}

void RequestGroup::cancel_all() {
  std::map<size_t, RequestId> in_engine;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->is_cancelled = true;
    shared_->events.clear();
    in_engine.swap(shared_->in_engine);
    shared_->is_told = false;  // of this
    if (shared_->on_events) shared_->tell();
  }
  for (const auto& [index, id] : in_engine) engine_.cancel(id);
}

bool RequestGroup::is_cancelled() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->is_cancelled;
}

std::vector<size_t> RequestGroup::waiting() {
  std::vector<size_t> found;
  for (const auto& [index, entry] : requests_)
    if (entry.n_open == 0 || engine_.is_waiting(entry.id)) found.push_back(index);
  return found;
}

}  // namespace pando
