// Requests that are asked of an engine of this process.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "api/asked_requests.h"

namespace pando {

// Submits requests as the engine has room for them, in order, and keeps their events until
// their owner takes them.
//
// An engine that is full refuses a request (kUnavailable), at once or by its listener. The group
// submits that request again when another of its own begins or ends (without `wants_text`: ends);
// where none of them is under way, after a while (retry_at). Each such occasion is good for one
// request, so that few are refused. As long as the engine has taken no request of the group, a
// refusal is an error, unless `waits_for_room`.
//
// One thread owns it; cancel_all() may be called by any. Requests that are not over when the group
// goes are cancelled.
class RequestGroup final : public AskedRequests {
 public:
  struct Options {
    int max_open = 0;         // answers in the engine at a time, or one request; 0: the engine's
    bool wants_text = false;  // of events that complete nothing too
    bool waits_for_room = false;  // refusals are never errors
    bool checked = false;         // all requests have passed Engine::check
    // Called by the engine's thread when there are events to take: once until take(), and never
    // after the group is gone. Must not block, and must not call the group.
    std::function<void()> on_events;
  };

  RequestGroup(Engine& engine, Options options);
  ~RequestGroup() override;
  RequestGroup(const RequestGroup&) = delete;
  RequestGroup& operator=(const RequestGroup&) = delete;

  // The group keeps it until its first event, so that it can be submitted again; without
  // `wants_text`, where the engine has no max_queue, until it is submitted.
  size_t add(std::shared_ptr<const Request> request) override;
  using AskedRequests::add;

  // Submits up to the first error, which is among the next events.
  void submit() override;
  // No events after cancel_all. If there was no memory for an event, all requests in the engine end
  // with kUnavailable. If there is none for the list, throws std::bad_alloc, and the next call
  // returns the events.
  std::vector<GroupEvent> take() override;
  std::optional<std::chrono::steady_clock::time_point> retry_at() const override;

  void cancel(size_t request) override;
  // Calls on_events.
  void cancel_all() override;
  bool is_cancelled() const;  // by cancel_all
  std::vector<size_t> waiting() override;

  bool is_over() const override { return requests_.empty() && found_.empty(); }
  size_t n_to_submit() const override { return to_submit_.size(); }
  size_t n_in_engine() const override { return requests_.size() - to_submit_.size(); }
  int n_open_answers() const override { return n_open_; }
  void set_max_open(int n_answers) override { options_.max_open = n_answers; }
  EngineStats stats() override { return engine_.stats(); }

 private:
  struct Shared;  // with the engine's listeners
  struct Entry {
    std::shared_ptr<const Request> request;  // as long as the engine may refuse it
    std::set<size_t>::node_type place;       // in to_submit_, to which it goes back without memory
    RequestId id = 0;
    int n_open = 0;  // answers to come; 0: not in the engine
    bool has_begun = false;
  };

  Result<RequestId> submit_one(size_t index);
  void fail_open();
  void end(size_t request);
  bool note(const GroupEvent& one) noexcept;  // true if the owner gets the event
  void add_turn();

  Engine& engine_;
  Options options_;
  std::shared_ptr<Shared> shared_;
  std::map<size_t, Entry> requests_;  // that are not over
  std::set<size_t> to_submit_;        // of these
  std::vector<GroupEvent> found_;     // for the owner: errors of submitting, and events that are
                                      // noted
  size_t n_added_ = 0;
  int n_open_ = 0;
  size_t n_turns_;          // requests that may be submitted
  bool has_begun_ = false;  // any of them
  std::chrono::steady_clock::time_point refused_at_;
};

}  // namespace pando
