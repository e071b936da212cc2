// Who is let in: requests that can be answered, as far as more may be open.
#pragma once

#include <memory>
#include <string>

#include "engine/loop_options.h"
#include "engine/residency.h"
#include "text/tokenizer.h"

namespace pando {

// What an engine can answer at all. Constant.
struct Limits {
  int vocab = 0;           // of the model
  size_t kv_capacity = 0;  // tokens whose keys and values fit the memory
  bool one_pass = false;   // keys and values are gone after a pass, so a request gets one pass only
};

// One thread, but for check().
class Admission {
 public:
  // All live longer; tokenizer and timing may be null.
  Admission(const EngineOptions& options, const Limits& limits, bool shares_tokens,
            const Tokenizer* tokenizer, const StepTiming* timing, Residency& residency,
            EngineStats& stats);

  // kInvalidArgument or kTooLong for a request of tokens that can never be answered. Any thread.
  Status check(const Request& request) const;
  // Takes a request up, if it passes `check` and max_queue allows it: adds one sequence for each of
  // its answers to `open`. kUnavailable. Throws std::bad_alloc. In both cases what was added is
  // done(), and the caller removes it.
  Status submit(RequestId id, Request request, Listener listener, Sequences& open);

  // An answer ended: it holds nothing any more, and the length of later ones is guessed from it.
  void ended(const Sequence& sequence);
  // Gives back what a sequence holds; afterwards it is done().
  void drop(Sequence& sequence);
  // After sequences were removed from `open`.
  void recount(const Sequences& open);
  // Tokens that open answers will come to, what they share counted once.
  size_t open_tokens() const { return residency_.cache().tree().n_pinned_tokens() + n_to_come_; }

 private:
  uint64_t add_sequence(const std::shared_ptr<ActiveRequest>& active, int choice, Sequences& open);
  uint32_t tokens_to_come(const Sequence& sequence) const;
  Status check_queue(const Sequences& open, int n_new) const;
  size_t longest(const Request& request) const;

  const EngineOptions& options_;
  Limits limits_;
  bool shares_tokens_;
  const Tokenizer* tokenizer_;
  const StepTiming* timing_;
  Residency& residency_;
  EngineStats& stats_;
  uint64_t next_order_ = 0;
  double answer_len_ = 128;  // mean of those that ended, the latest ones count most
  size_t n_to_come_ = 0;     // tokens of open answers, as predicted when a sequence last ended
};

}  // namespace pando
