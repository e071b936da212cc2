// One open answer: the rows of logits that it wants, and the tokens that it draws from them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/errors.h"
#include "cache/path_pages.h"
#include "cache/prefix_tree.h"
#include "engine/stop_matcher.h"
#include "engine/token_filter.h"
#include "pando/values/engine_options.h"
#include "schedule/batcher.h"
#include "text/answer_decoder.h"
#include "text/tokenizer.h"

namespace pando {

// A request and its open answers; shared by its sequences.
struct ActiveRequest {
  RequestId id = 0;
  Request request;  // tokens are those of the prompt
  Listener listener;
  uint64_t seed = 0;
  calls::CallFormPtr calls;          // null: it offers no tools
  std::vector<Token> in_prompt;      // its tokens sorted, each once, where a penalty asks for them
  std::vector<Token> reasoning_end;  // that follow its thinking_budget
  int n_open = 0;                    // sequences not finished
  Error error = no_memory();         // for its listener if it fails
  std::shared_ptr<ActiveRequest> next_failed;  // in the outbox
};

// Window pages that a sequence holds, in models with sliding windows (StepWindows).
struct HeldWindow {
  uint32_t from = 0;            // the next row that it computes
  std::vector<PathPage> pages;  // that rows from there on read or write; the last ones first
};

// Values that a sequence reads from an output row.
struct ReadRow {
  TokenLogprob next;         // the token after it
  uint64_t logits_hash = 0;  // of all rows up to this one
};

// A path in the prefix tree that grows by one token a step once its prompt is computed.
struct Sequence {
  // Result of a token that was taken.
  struct Taken {
    std::string text;                      // new text of the answer
    std::string reasoning;                 // the same
    std::vector<ToolCall> calls;           // the same
    std::optional<FinishReason> finished;  // otherwise what follows is to be computed next:
    std::vector<Token> follow;             // the tokens that the path grows by
  };

  std::shared_ptr<ActiveRequest> request;
  int choice = 0;
  uint64_t order = 0;   // of arrival: the lower, the older
  Node* tip = nullptr;  // pinned; locked while running
  bool running = false;
  Place* place = nullptr;  // held: where it goes on from, in models with states (StepPlaces)
  HeldWindow window;
  bool done = false;                     // to be removed once it has no part in a step in flight
  uint32_t max_tokens = 0;               // the request's, bounded by the context
  uint32_t next_output = 0;              // position of the next row whose logits it reads
  uint32_t n_asked = 0;                  // rows from there on whose logits steps in flight give it
  int n_in_flight = 0;                   // steps in flight that it has a part in
  std::span<const Token> ends;           // tokens that end it, unless it asks to go on
  Completion completion;                 // so far
  uint64_t logits_hash = 0;              // of the rows that were read
  std::optional<AnswerDecoder> decoder;  // nothing without a tokenizer
  StopMatcher stops;
  std::optional<TokenFilter> filter;  // set if the answer has a form, and inside a call
  bool filters_call = false;          // the filter ends where the call ends
  bool call_ends = false;             // with the drawn token and those that it forces
  std::optional<size_t> tried_call;  // number of calls before the last one that filter_call() tried
  bool forces_tokens = true;         // several forced tokens are computed in a step
  struct Forced {
    std::vector<Token> tokens;
    bool ends = false;            // the text is complete behind them
    bool ends_reasoning = false;  // the row of the last one is read when all are taken
    size_t n_on_path = 0;         // first tokens that are on the path before they are taken
  };
  Forced forced;                   // behind the answer's tokens so far
  Forced next_forced;              // behind the token that was drawn last, and is not taken yet
  uint32_t n_reasoning = 0;        // tokens of reasoning so far
  std::optional<Error> failure;    // why the answer cannot go on
  ScheduledRequest scheduled;      // used if time is predicted
  size_t n_told = 0;               // tokens that events have told, with Request::tells_tokens
  std::vector<Taken> begun_taken;  // results of the tokens of begun(), until events tell them

  const SamplingOptions& sampling() const { return request->request.sampling; }
  std::span<const Token> prompt() const { return request->request.tokens; }
  std::span<const Token> begun() const;  // tokens of the answer that another engine drew
  size_t n_begun() const;                // of them, computed like a prompt
  bool scores_prompt() const { return next_output + 1 < prompt().size(); }
  // Position of the next row whose logits it wants and no step in flight gives it.
  uint32_t next_wanted() const;
  bool wants_prompt() const { return next_wanted() + 1 < prompt().size(); }
  // True if it needs the next token from a step in flight before it can go on.
  bool awaits_token() const { return n_asked > 0 && next_wanted() >= tip->end(); }
  WaitingPrompt as_waiting() const;  // for a batcher

  // True if its request has results, or if it runs and rows of its last node are submitted, by
  // itself or by others.
  bool has_begun() const;

  // The token after the wanted row at `position`: the next of the prompt, or one drawn from the
  // logits. Only the row before the prompt's last token writes the alternatives. Threads may read
  // different rows of a step in parallel.
  TokenLogprob read(std::span<const float> logits, uint32_t position);
  // False if read() needs only the lowest id among the row's largest logits.
  bool reads_logits(uint32_t position) const;
  // As read(), but takes that id in place of the row.
  TokenLogprob read_largest(Token largest, uint32_t position) const;
  // Adds the next row of hidden states, [d_model], to the embedding.
  void pool(uint32_t position, std::span<const float> hidden);
  // Forces the end of the reasoning if the request's budget for it is spent.
  void end_reasoning();
  // Chains the hash of the next row that was read, where hashes are wanted. Returns it.
  uint64_t add_to_hash(std::span<const float> row);

  // Advances by one row. Not for rows behind the end of the answer.
  Taken take(ReadRow row);
  // Advances by a token that another engine drew, as if it had been drawn here. kInvalidArgument if
  // it could not have been drawn.
  Result<Taken> take_begun(Token token);

 private:
  // True if the form restricts the next token.
  bool is_filtered() const { return filter && decoder->in_content(); }
  // Index in `forced` of the token after that row; at least its length if that token is drawn.
  size_t index_in_forced(uint32_t position) const;
  TokenLogprob draw(std::span<const float> logits, uint32_t position);
  void follow_begun(Token token);
  void filter_next(Token drawn);
  // Begins to filter a call that has begun.
  void filter_call();
  // True if the filtered call is complete, and the text after it needs no filter.
  bool filter_is_done() const { return filters_call && filter->can_end(); }
  void end_filter();
  // Drops the filter if the call need not be valid; otherwise the answer fails.
  void fail_filter(const Error& error);
  bool is_end(Token token) const;
  Taken take_drawn(TokenLogprob drawn);
  void follow_forced(std::vector<Token>& follow);
  // Gives calls their ids, adds them to the completion, and returns them.
  std::vector<ToolCall> add_calls(std::vector<ToolCall> calls);
  Taken finish_embedding();
  Taken finish(FinishReason reason);
};

// The part of a request's prompt that is computed: the last token's row is only needed for an
// answer.
std::span<const Token> computed_prompt(const Request& request);
// Position of the first row whose logits a request wants.
uint32_t first_output(const Request& request);
// True if tokens that another engine drew are drawn again, because their rows of logits have values
// to report.
bool draws_again(const Request& request);

}  // namespace pando
