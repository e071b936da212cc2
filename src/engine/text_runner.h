// Runs the texts of a model whose rows see both ways: all rows of a text are computed together,
// pass by pass (TextPasses), and nothing of it is kept.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/function_ref.h"
#include "cache/page_pool.h"
#include "contract/executor.h"
#include "engine/outbox.h"
#include "pando/values/engine_options.h"
#include "pando/values/engine_stats.h"

namespace pando {

// Parts that a TextRunner works with. All of them outlive it.
struct TextRunnerParts {
  const EngineOptions& options;
  Executor& executor;
  PagePool& pages;
  Outbox& outbox;
  EngineStats& stats;
  size_t depth;         // steps in flight at most
  bool joins_equal;     // equal texts of an isolation key are computed once
  double step_seconds;  // limit of a step, predicted from earlier steps; infinity: none
};

// Equal texts are one while none of their outputs is asked for. A step takes the texts in order of
// arrival through as many passes as its rows allow. A text longer than a step takes half of it
// while others wait, one such text at a time. One thread.
//
// With a limit of seconds, a step has as many elements as fit at the speed of the slowest recent
// step: layers with a window are faster than others.
class TextRunner {
 public:
  explicit TextRunner(const TextRunnerParts& parts) : parts_(parts) {}

  // Takes a request that has passed Admission::check. kUnavailable if max_queue does not allow it.
  // Throws std::bad_alloc, and has then taken nothing.
  Status submit(RequestId id, Request request, Listener listener);
  void cancel(std::span<const RequestId> ids);  // ascending
  void fail_all(const Error& error) noexcept;
  std::vector<RequestId> waiting() const;  // for which nothing is computed, in order of arrival

  // Submits as many steps as there is work for, and finishes the oldest one. Never throws.
  void step();

  size_t n_requests() const { return n_requests_; }
  size_t n_given_up() const;                     // texts without requests, in steps in flight
  size_t n_running() const;                      // requests whose texts have pages
  size_t n_tokens() const { return n_tokens_; }  // of all texts

 private:
  using MakeError = FunctionRef<Error()>;

  // A request, and what it has read of its text so far.
  struct Reader {
    std::shared_ptr<ActiveRequest> request;
    Completion completion;
  };
  struct Text {
    std::vector<Token> tokens;
    std::vector<uint8_t> token_types;
    uint64_t isolation_key = 0;
    uint64_t hash = 0;  // of these
    std::vector<Reader> readers;
    std::vector<PageId> pages;  // none: it waits
    uint64_t n_submitted = 0;   // elements of its passes (PlannedText)
    int n_in_flight = 0;        // steps
    bool is_over = false;       // to be removed once it has no part in a step in flight
  };
  // The part of a text in a step.
  struct Share {
    Text* text;
    uint64_t begin, end;
    std::vector<uint32_t> outputs;  // rows of the text
  };
  using Shares = std::vector<Share>;

  uint64_t n_elements(const Text& text) const;  // of all its passes
  Text* find_equal(const Request& request, uint64_t hash);
  Status check_queue(size_t n_more) const;
  bool take_pages(Text& text);
  uint64_t most_elements() const;  // of the next step
  Shares choose();
  std::vector<uint32_t> outputs_of(const Text& text, uint64_t begin, uint64_t end) const;
  bool submit_next();
  void finish_next();
  void observe(const Shares& shares, double seconds);
  void read(const Shares& shares);
  void finish(Text& text);
  void fail(const Shares& shares, const MakeError& reason) noexcept;
  void fail(Text& text, const MakeError& reason) noexcept;
  void restart(Text& text);
  void remove_over();

  TextRunnerParts parts_;
  std::vector<std::unique_ptr<Text>> texts_;     // in order of arrival
  std::unordered_map<uint64_t, Text*> by_hash_;  // the last text of each hash
  std::deque<Shares> in_flight_;                 // the oldest first
  size_t n_requests_ = 0;
  size_t n_tokens_ = 0;
  double seconds_per_element_ = 0;  // 0: not known yet
};

}  // namespace pando
