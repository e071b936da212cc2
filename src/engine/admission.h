// Admits requests that can be answered, as long as max_queue allows more.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/loop_options.h"
#include "engine/options.h"
#include "engine/residency.h"
#include "pando/values/engine_stats.h"
#include "text/answer_decoder.h"
#include "text/grammar/form_cache.h"
#include "text/tokenizer.h"

namespace pando {

// Upper bounds of a request that the engine can answer. Fixed when the engine is opened.
struct Limits {
  ModelLimits model;
  size_t kv_capacity = 0;   // tokens whose keys and values fit the memory
  size_t longest_path = 0;  // tokens that one path can have in that memory
  size_t token_bytes = 0;   // keys and values of one token, without those in window pages
  bool one_pass = false;    // keys and values are gone after a pass, so a request gets only one
  std::vector<Token> ends;  // end tokens of the model and of its tokenizer
};

// Inputs of an Admission. All but the limits outlive it.
struct AdmissionParts {
  const EngineOptions& options;
  Limits limits;
  bool shares_tokens;           // the planner lets sequences share tokens
  const Tokenizer* tokenizer;   // null: there is no text
  grammar::FormCache* forms;    // null: answers have no forms
  const AnswerFormat* answers;  // null: what the tokenizer shows alone
  bool forces_tokens;           // see LoopOptions
  const StepTiming* timing;     // null: no time is predicted
  Residency& residency;
  EngineStats& stats;  // tokens of requests are counted in it
};

// Used by one thread, except for check().
class Admission {
 public:
  explicit Admission(const AdmissionParts& parts);

  // kInvalidArgument or kTooLong for a tokenised request that can never be answered, or an error of
  // FormCache. Any thread.
  Status check(const Request& request) const;
  // Takes a request that passes `check`: adds one sequence to `open` for each of its answers.
  // kUnavailable if max_queue does not allow it; kInvalidArgument if answers cannot have begun as
  // it says. Throws std::bad_alloc. After an error or an exception the added sequences are marked
  // `done`, and the caller removes them. An answer that is complete already has no path.
  Status submit(RequestId id, Request request, Listener listener, Sequences& open);

  // Counts an answer that has ended; the length of later answers is predicted from it.
  void ended(const Sequence& sequence);
  // Marks a sequence `done`, and lets it go.
  void drop(Sequence& sequence);
  // Frees the resources of a sequence that is done, unless it has a part in a step in flight.
  void let_go(Sequence& sequence);
  // Call after sequences were removed from `open`.
  void recount(const Sequences& open);
  // Predicted tokens of the open answers when they are complete; shared tokens count once.
  size_t open_tokens() const { return residency_.cache().tree().n_pinned_tokens() + n_to_come_; }

 private:
  Result<uint64_t> add_sequence(const std::shared_ptr<ActiveRequest>& active, int choice,
                                Sequences& open);
  // Takes the tokens that another engine drew, and returns those that belong to the path.
  // kInvalidArgument if they cannot have been drawn.
  Result<std::vector<Token>> take_begun(Sequence& sequence) const;
  void enter(Sequence& sequence, std::span<const Token> begun);
  uint32_t tokens_to_come(const Sequence& sequence) const;
  Status check_queue(const Sequences& open, int n_new) const;
  size_t longest(const Request& request) const;
  // Tokens of the text that ends its reasoning; kInvalidArgument if its budget cannot be kept.
  Result<std::vector<Token>> reasoning_end_of(const Request& request) const;

  const EngineOptions& options_;
  Limits limits_;
  bool shares_tokens_;
  const Tokenizer* tokenizer_;
  AnswerFormat of_tokenizer_;
  const AnswerFormat& answers_;
  grammar::FormCache* forms_;
  bool forces_tokens_;
  const StepTiming* timing_;
  Residency& residency_;
  EngineStats& stats_;
  uint64_t next_order_ = 0;
  double answer_len_ = 128;  // mean of the answers that ended; the latest ones count most
  size_t n_to_come_ = 0;     // tokens still to come in open answers, as predicted
};

}  // namespace pando
