// Events for listeners, collected during a step and delivered after it.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "engine/sequence.h"

namespace pando {

// One thread. A listener may do anything, even add to the outbox.
class Outbox {
 public:
  void add(std::shared_ptr<ActiveRequest> request, Event event) {
    events_.push_back({std::move(request), std::move(event)});
  }
  // Reserves memory for the next n calls of `add`.
  void make_room(size_t n = 1) {
    if (events_.capacity() - events_.size() < n) events_.reserve(2 * events_.size() + n + 15);
  }
  // The last event of a request, which ends with its error. Needs no memory.
  void add_failed(std::shared_ptr<ActiveRequest> request) noexcept {
    std::shared_ptr<ActiveRequest>& place =
        last_failed_ ? last_failed_->next_failed : first_failed_;
    last_failed_ = request.get();
    place = std::move(request);
  }
  void deliver() {
    std::shared_ptr<ActiveRequest> failed = std::move(first_failed_);
    last_failed_ = nullptr;
    for (Delivery& delivery : std::exchange(events_, {}))
      delivery.request->listener(std::move(delivery.event));
    while (failed) {
      failed->listener(Event{.request = failed->id, .error = std::move(failed->error)});
      failed = std::exchange(failed->next_failed, nullptr);
    }
  }

 private:
  struct Delivery {
    std::shared_ptr<ActiveRequest> request;  // its listener gets the event
    Event event;
  };
  std::vector<Delivery> events_;
  std::shared_ptr<ActiveRequest> first_failed_;  // and those behind it, in order
  ActiveRequest* last_failed_ = nullptr;
};

}  // namespace pando
