// The engine: many requests over one model, sharing what their prompts share.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pando/engine_stats.h"
#include "pando/model.h"
#include "pando/request.h"
#include "pando/scheduling.h"

namespace pando {

// What keys and values are stored as.
enum class KvType { kF32, kF16, kBF16, kInt8 };

// Bytes that the keys and values of one token take, in all layers.
size_t kv_bytes_per_token(const Model& model, KvType type);

// What is fixed when an engine is opened.
struct EngineOptions {
  std::string sharing = "tree";   // planner, and its options: see sharing.h
  int threads = 0;                // 0: one for each processor that may be used
  int nice = 0;                   // niceness that these add to that of who opens the engine, 0
                                  // to 19: above 0, others of the process go first (Linux)
  size_t kv_memory = 0;           // budget for keys and values, bytes; 0: half of what is
                                  // free, within the limits of a container
  size_t kv_ahead = 0;            // bytes of it that have memory behind them before they are
                                  // used, as far as the engine has idle time for that
  size_t kv_ahead_first = 0;      // of these, what it begins with: beyond, only as many bytes as
                                  // were ever in use; 0: kv_ahead from the start
  KvType kv_type = KvType::kF16;  // type that keys and values are stored in
  int context = 0;                // longest sequence in tokens; 0: the model's. Rotation
                                  // of type longrope is fixed by it (docs/models.md)
  uint64_t seed = 0;              // of requests that bring none
  // Models with recurrent layers: states of cached prompts are kept at least every so many tokens,
  // as far as the memory for states goes (docs/memory.md).
  int place_every = 2048;
  int step_rows = 1024;  // rows of a forward pass at most; running answers take one
                         // each, and prompts what they leave
  // Who goes first: fcfs, edf, lrs or lars (docs/scheduling.md). What is not fcfs needs step_costs.
  std::string policy = "fcfs";
  double step_budget = 0;  // predicted seconds of a step at most, which needs step_costs; 0: under
                           // fcfs rows alone limit it, otherwise the least tpot_slo of a class
  std::string step_costs;  // how long steps take: JSON (step_costs.h)
  PackingOptions packing;  // of steps that go by time
  // By name; that of "" is of requests that name none.
  std::map<std::string, DeadlineClass> deadline_classes;
  int max_running = 256;  // sequences that hold keys and values at a time
  int max_open = 4096;    // answers waiting or under way; more are refused
  // Keys and values that all open answers may come to, as a multiple of kv_memory, what they share
  // counted once and answers predicted to get twice as long as late ones; the listener of a request
  // above it hears kUnavailable. 0: no limit.
  double max_queue = 0;
  std::string isa;  // portable, avx2, avx512, avx512bf16 or amx; empty: the best there is
};

// Names a request of one engine.
using RequestId = uint64_t;
// Called from the engine's thread; must not throw and must not block.
using Listener = std::function<void(Event)>;

struct LoopOptions;

// All methods may be called from any thread. One thread of its own runs the steps.
class Engine {
 public:
  // Errors: kInvalidArgument for options that cannot work.
  static Result<std::unique_ptr<Engine>> open(std::shared_ptr<const Model> model,
                                              const EngineOptions& options = {});
  // Ends open requests with kUnavailable and joins the thread.
  ~Engine();

  // Takes a request up; `listener` hears of it until its last completion or its error.
  // Errors, at once: kInvalidArgument, kTooLong (prompt and answer can never fit), kUnavailable
  // (max_open reached).
  Result<RequestId> submit(Request request, Listener listener);
  // What submit says at once of a request of tokens, but for max_open.
  Status check(const Request& request) const;
  // Drops a request; work that others share stays. Its listener hears nothing more, except what is
  // under way at this moment. Unknown ids are ignored.
  void cancel(RequestId id);
  // True where, as of the last step, nothing of a request was computed but what it shares with
  // others: to cancel it loses little work (that of a
  // prefill that was preempted). False for one that is over.
  bool is_waiting(RequestId id) const;

  // Submits and waits for all n answers, in the order of their choice index.
  Result<std::vector<Completion>> complete(Request request);
  // The same for many requests, as many at a time as max_open allows; an idle engine starts when it
  // has all of these. Result [requests][n], in order. The first error ends the call and is
  // returned.
  Result<std::vector<std::vector<Completion>>> complete_all(std::vector<Request> requests);

  EngineStats stats() const;             // as of the last step
  const Model& model() const;            // lives as long as the engine
  const EngineOptions& options() const;  // with the defaults filled in
  size_t kv_capacity() const;            // tokens whose keys and values fit kv_memory
  size_t longest() const;                // tokens that a prompt and its answer can have

  // While what this returns, or a copy of it, lives, an idle engine does not start on what is
  // submitted: what is asked together is planned together. Whoever holds an engine must not wait
  // for an answer, and no hold may outlive the engine.
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
