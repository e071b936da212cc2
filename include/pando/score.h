// Log-probabilities of texts: of continuations of one prefix, and of a text as a whole.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/engine.h"
#include "pando/values/engine_stats.h"

namespace pando {

// Score of one continuation of a prefix.
struct ContinuationScore {
  double logprob = 0;        // ln p of all its tokens, given the prefix
  int n_tokens = 0;          // that were scored
  bool likeliest = true;     // every token is the likeliest one: greedy decoding would give it
  uint64_t logits_hash = 0;  // of the scored tokens' logits; 0 unless asked for
};

// The requests that score continuations of one prefix. Prefix and continuation are tokenised as one
// text. The scored tokens begin behind the tokens that all these texts and the prefix alone have in
// common: a token across the border is scored, and all continuations are scored behind the same
// tokens. Tokens that the tokenizer puts behind every text are left out. Generates nothing.
// Errors: as Model::encode and check_continuations; kInvalidArgument if no token comes before the
// first scored one, or if a continuation adds no token.
Result<std::vector<Request>> continuation_requests(const Model& model, std::string_view prefix,
                                                   std::span<const std::string> continuations,
                                                   bool add_bos = true);
// kInvalidArgument for an empty continuation: it has no token to score, so it cannot be compared
// with others.
Status check_continuations(std::span<const std::string> continuations);
// The score from the completion of such a request.
ContinuationScore continuation_score(const Completion& completion);

// Merges such requests if they are neighbours and score one token behind the same tokens, so that
// planners without sharing compute these tokens once too. Apart from its tokens, a merged request
// has the fields of the first.
std::vector<Request> joined(std::vector<Request> requests);
// Index, before the requests were joined, of the first score of `requests[which]`.
size_t first_of(std::span<const Request> requests, size_t which);
// Splits the completions of joined requests: returns one completion for each request before the
// joining, in order.
std::vector<Completion> taken_apart(std::span<const std::vector<Completion>> completions);

// All continuations together; the prefix is computed once. Any thread. Errors: as
// continuation_requests and Engine::complete_all.
Result<std::vector<ContinuationScore>> score(Engine& engine, const std::string& prefix,
                                             const std::vector<std::string>& continuations);

// Options of how a text is cut into windows.
struct PerplexityOptions {
  int window = 0;  // tokens the model sees at a time; 0: the engine's context
  int stride = 0;  // tokens from one window to the next; 0: half a window
  // Called now and then, and at the end, by the thread that calls perplexity().
  std::function<void(const struct PerplexityProgress&)> on_progress = {};
  // Once it is true, all windows that are not scored yet are dropped, also those under way. The
  // call returns while the engine ends its step.
  const std::atomic<bool>* stop = nullptr;
};

// Perplexity of a text, and its counts.
struct Perplexity {
  uint64_t n_tokens = 0;      // scored tokens of the text: all but those with no token before them
  uint64_t n_bytes = 0;       // of the whole text, whatever was scored
  uint64_t n_windows = 0;     // scored; each is a prompt
  uint64_t n_dropped = 0;     // dropped by a stop; no other figure counts them
  double log_likelihood = 0;  // sum of ln p
  bool stopped = false;       // some windows were not scored, and are not counted

  double perplexity() const;     // exp of the mean of -ln p; needs n_tokens > 0
  double bits_per_byte() const;  // -log2 p for each byte; needs all windows, else it is too small
};

struct PerplexityProgress {
  Perplexity so_far;
  double share_done = 0;               // of the tokens to score, in [0, 1]
  double seconds = 0;                  // since the call began
  std::optional<double> seconds_left;  // estimated; empty before a token is computed
  EngineStats stats;                   // since the call began
};

// kInvalidArgument for window and stride that do not fit the engine's context, or each other.
Status check_perplexity_options(const Engine& engine, const PerplexityOptions& options);

// Scores each token of the text once, given the tokens before it in its window: at least window -
// stride of them, but in the first window. Any thread. Windows begin with the beginning-of-sequence
// token if the model wants one; tokens that the tokenizer puts behind a text are left out. Errors:
// as Model::encode and check_perplexity_options; kInvalidArgument for less than two tokens.
Result<Perplexity> perplexity(Engine& engine, std::string_view text,
                              const PerplexityOptions& options = {});

}  // namespace pando
