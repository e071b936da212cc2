// The loop of an engine: schedule -> reserve -> plan -> execute -> commit, step by step, on the
// calling thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "base/thread_pool.h"
#include "contract/executor.h"
#include "engine/admission.h"
#include "engine/loop_options.h"
#include "engine/outbox.h"
#include "engine/residency.h"
#include "engine/step_runner.h"
#include "engine/text_runner.h"
#include "pando/values/engine_options.h"
#include "pando/values/engine_stats.h"
#include "plan/planner.h"
#include "schedule/batcher.h"

namespace pando {

// Parts of an EngineLoop. `options` have passed fill_in (options.h).
struct LoopParts {
  LoopOptions options;
  std::unique_ptr<Planner> planner;
  std::unique_ptr<Batcher> batcher;              // null: steps are filled as the options say
  std::function<std::vector<Figure>()> figures;  // counters of the technique; empty: none
  std::unique_ptr<ThreadPool> pool;              // the executor works on it too
  std::unique_ptr<Executor> executor;
  std::unique_ptr<StepTiming> timing;     // null: rows alone fill a step
  RankShape ranks;                        // of the executor
  const Tokenizer* tokenizer = nullptr;   // null: there is no text
  grammar::FormCache* forms = nullptr;    // of that tokenizer; null: answers have no forms
  const AnswerFormat* answers = nullptr;  // of the model; null: what its tokenizer shows alone
  std::vector<Token> end_ids;             // of the model: tokens that end an answer
  int max_positions = 0;                  // of the model: its longest sequence, in tokens
  int n_token_types = 0;                  // of the model
};

// Joins three parts: admission of requests (Admission), resident paths (Residency), and steps
// (StepRunner); or, for a model whose rows see both ways, admission and TextRunner. Owns the open
// sequences. One thread.
class EngineLoop {
 public:
  explicit EngineLoop(LoopParts parts);

  // Admission::check; any thread.
  Status check(const Request& request) const { return admission_.check(request); }
  // Takes a tokenised request if it passes `check`. kUnavailable if max_queue does not allow it.
  // Throws std::bad_alloc if memory runs out, and has then taken nothing.
  Status submit(RequestId id, Request request, Listener listener);
  // Does the same for a request that has passed it.
  Status submit_checked(RequestId id, Request request, Listener listener);
  void cancel(RequestId id) { cancel(std::vector{id}); }
  void cancel(std::vector<RequestId> ids);
  // Requests for which only tokens that they share are computed, in order of arrival.
  std::vector<RequestId> waiting() const;
  // Ends every open request with this error.
  void fail_all(const Error& error) noexcept;

  // Submits as many steps as the executor takes and as there is work for, and finishes the oldest
  // step in flight. False if there is nothing to do. Never throws: a bug or a lack of memory ends
  // requests with an error.
  bool step();
  // For idle time: makes the next step cheaper, a few milliseconds at a time. False if nothing was
  // left to do.
  bool prepare();
  // When the next step has to begin so that no request is late, for an engine that has had no step
  // since `since`. Without predicted times: since.
  std::chrono::steady_clock::time_point start_by(std::chrono::steady_clock::time_point since) const;
  // Delivers the events since the last call to the listeners. They may call anything in this class.
  void deliver_events() { outbox_.deliver(); }

  // Open ones, and those that were given up while steps in flight hold them.
  size_t n_sequences() const {
    return sequences_.size() + (texts_ ? texts_->n_requests() + texts_->n_given_up() : 0);
  }
  // Has no figures if there is no memory for them.
  EngineStats stats() const noexcept;
  size_t ready_bytes()
      const;  // of free pages that have memory behind them (EngineStats::kv_ready_bytes)
  const EngineOptions& options() const { return parts_.options.engine; }
  const Executor& executor() const { return *parts_.executor; }
  const RankShape& ranks() const { return parts_.ranks; }
  // Tokens whose keys and values fit the memory.
  size_t kv_capacity() const { return executor().facts().kv_capacity; }
  // Tokens that one sequence can have.
  size_t longest() const {
    return std::min<size_t>(options().context, executor().facts().longest_path);
  }
  const KvCache& cache() const { return residency_.cache(); }
  void observe_logits(OutputReader::LogitsObserver observer) {
    runner_.observe_logits(std::move(observer));
  }

 private:
  using MakeError = FunctionRef<Error()>;  // called if there is memory for it

  Limits limits() const;
  size_t ahead_bytes() const;  // target of prepare(): bytes to have ready
  void take(Sequence& sequence, ReadRow row);
  void tell_begun(RequestId id);
  // The event of an answer's token number n_tokens, counted from 1.
  static Event event_of(Sequence& sequence, Sequence::Taken taken, size_t n_tokens);
  void finish(Sequence& sequence, Sequence::Taken last);
  void fail(const std::shared_ptr<ActiveRequest>& request, const MakeError& reason) noexcept;
  void fail_step(std::span<const Share> shares, const MakeError& reason) noexcept;
  size_t depth() const;
  bool submit_next();
  std::optional<SubmittedStep> finish_next();
  template <class Try>
  bool try_step(const std::vector<Share>& shares, const Try& run);
  void remove_done();

  LoopParts parts_;
  EngineStats stats_;
  Sequences sequences_;
  Outbox outbox_;
  Residency residency_;
  Admission admission_;
  StepRunner runner_;
  std::optional<TextRunner> texts_;
};

}  // namespace pando
