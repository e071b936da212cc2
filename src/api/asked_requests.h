// Requests to an engine of this process or of another.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "pando/engine.h"

namespace pando {

// An event of a request.
struct GroupEvent {
  size_t request = 0;  // its index
  Event event;
  std::chrono::steady_clock::time_point when;
};

// Requests that are asked of one engine together. One thread owns it.
class AskedRequests {
 public:
  virtual ~AskedRequests() = default;

  // Returns its index: 0, 1, 2, ...
  virtual size_t add(std::shared_ptr<const Request> request) = 0;
  size_t add(Request request) { return add(std::make_shared<const Request>(std::move(request))); }

  // Submits what there is room for.
  virtual void submit() = 0;
  // The events since the last call, in order. An error is the last event of its request; others go
  // on.
  virtual std::vector<GroupEvent> take() = 0;
  // When to submit again though there are no events.
  virtual std::optional<std::chrono::steady_clock::time_point> retry_at() const = 0;

  // It has no more events.
  virtual void cancel(size_t request) = 0;
  // Ends all requests: no more events, and no more are submitted.
  virtual void cancel_all() = 0;
  // Indices, ascending, of requests for which nothing is computed yet but rows that others share
  // (Engine::is_waiting).
  virtual std::vector<size_t> waiting() = 0;

  // True if all are complete, failed or cancelled, and their events taken.
  virtual bool is_over() const = 0;
  virtual size_t n_to_submit() const = 0;
  virtual size_t n_in_engine() const = 0;
  virtual int n_open_answers() const = 0;  // of those in the engine
  // Answers in the engine at a time, or one request.
  virtual void set_max_open(int n_answers) = 0;
  // Counters of the engine.
  virtual EngineStats stats() = 0;
};

}  // namespace pando
