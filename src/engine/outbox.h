// What listeners are to be told after a step.
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
  // After this, the next `add` needs no memory.
  void make_room() {
    if (events_.size() == events_.capacity()) events_.reserve(2 * events_.size() + 16);
  }
  void deliver() {
    for (Delivery& delivery : std::exchange(events_, {}))
      delivery.request->listener(std::move(delivery.event));
  }

 private:
  struct Delivery {
    std::shared_ptr<ActiveRequest> request;  // whose listener is told
    Event event;
  };
  std::vector<Delivery> events_;
};

}  // namespace pando
