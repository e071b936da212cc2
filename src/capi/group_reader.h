// Requests of an engine whose events one consumer pulls.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "api/request_group.h"
#include "base/errors.h"
#include "capi/bell.h"

namespace pando::capi {

enum class What { kEvent, kTimeout, kEnd, kCancelled };

// One consumer calls `next`, any thread `cancel`.
class GroupReader {
 public:
  // The bell, which outlives the reader, rings when there are events.
  GroupReader(std::shared_ptr<Engine> engine, Bell& bell, bool wants_text)
      : engine_(std::move(engine)),
        bell_(bell),
        group_(*engine_, {.wants_text = wants_text, .on_events = [this] { bell_.ring(); }}),
        no_memory_(no_memory()) {}

  void add(Request request) { group_.add(std::move(request)); }
  void cancel() { group_.cancel_all(); }
  // Ends the reading because the consumer had no memory for an event. Returns the first error: an
  // earlier one, or this.
  const Error& end_without_memory() noexcept {
    group_.cancel_all();
    return error_ ? *error_ : error_.emplace(std::move(no_memory_));
  }

  // kEvent as soon as has_news(); on_event(request, Event) is what makes news. The first error
  // cancels all, and is returned once there is no news left. Where it throws std::bad_alloc, events
  // may be lost.
  template <class HasNews, class OnEvent>
  Result<What> next(Deadline deadline, const HasNews& has_news, const OnEvent& on_event) {
    for (;;) {
      if (!error_ && !has_news() && group_.is_over()) return What::kEnd;
      if (!error_ && group_.is_cancelled()) return What::kCancelled;
      group_.submit();
      if (has_news()) return What::kEvent;
      if (error_) return *error_;
      if (take(on_event)) continue;
      if (deadline && Waker::Clock::now() >= *deadline) return What::kTimeout;
      Deadline until = group_.retry_at();
      if (deadline) until = std::min(*deadline, until.value_or(*deadline));
      bell_.wait(until);
    }
  }

 private:
  // False: there were no events.
  template <class OnEvent>
  bool take(const OnEvent& on_event) {
    bell_.quiet();
    std::vector<GroupEvent> events = group_.take();
    for (GroupEvent& one : events) {
      if (!one.event.error) {
        on_event(one.request, std::move(one.event));
      } else if (!error_) {
        error_ = *one.event.error;
        group_.cancel_all();
      }
    }
    return !events.empty();
  }

  std::shared_ptr<Engine> engine_;
  Bell& bell_;
  RequestGroup group_;
  std::optional<Error> error_;
  Error no_memory_;  // made while there was some
};

}  // namespace pando::capi
