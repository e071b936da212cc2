// The engine: many requests over one model, sharing what their prompts share.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pando/model.h"
#include "pando/values/engine_options.h"
#include "pando/values/engine_stats.h"
#include "pando/values/request.h"

namespace pando {

// Bytes that the keys and values of one token take, in all layers.
size_t kv_bytes_per_token(const Model& model, KvType type);

struct LoopOptions;

// All methods may be called from any thread. One thread of its own runs the steps.
class Engine {
 public:
  // Errors: kInvalidArgument for options that cannot work.
  static Result<std::unique_ptr<Engine>> open(std::shared_ptr<const Model> model,
                                              const EngineOptions& options = {});
  // Ends open requests with kUnavailable and joins the thread.
  ~Engine();

  // Submits a request; `listener` gets its events until the last completion or an error. Errors at
  // once: kInvalidArgument, kTooLong (prompt and answer can never fit), kUnavailable (max_open
  // reached).
  Result<RequestId> submit(Request request, Listener listener);
  // Does the same for a request of tokens that has passed check(), which is not repeated.
  Result<RequestId> submit_checked(Request request, Listener listener);
  // The errors that submit would return at once for a request of tokens, except for max_open.
  Status check(const Request& request) const;
  // Drops a request; work that others share stays. Its listener gets no more events, except those
  // under way at this moment. Unknown ids are ignored.
  void cancel(RequestId id);
  // True if, as of the last step, only rows that the request shares with others are computed, so
  // that cancelling it loses little work (at most a preempted prefill). False for a request that is
  // over.
  bool is_waiting(RequestId id) const;

  // Submits and waits for all n answers, in the order of their choice index.
  Result<std::vector<Completion>> complete(Request request);
  // Does the same for many requests, as many at a time as max_open allows; an idle engine starts
  // when it has all of these. Result [requests][n], in order. The first error ends the call and is
  // returned.
  Result<std::vector<std::vector<Completion>>> complete_all(std::vector<Request> requests);

  EngineStats stats() const;             // as of the last step
  const Model& model() const;            // lives as long as the engine
  const EngineOptions& options() const;  // with the defaults filled in
  size_t kv_capacity() const;            // tokens whose keys and values fit kv_memory
  size_t longest() const;                // tokens that a prompt and its answer can have

  // While the hold, or a copy of it, lives, an idle engine starts no submitted request, so that
  // requests asked together are planned together. The holder must not wait for an answer, and no
  // hold may outlive the engine.
  using Hold = std::shared_ptr<const void>;
  [[nodiscard]] Hold hold();

 private:
  class Impl;
  friend Result<std::unique_ptr<Engine>> open_engine(std::shared_ptr<const Model> model,
                                                     const LoopOptions& options);
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pando
