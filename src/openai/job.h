// One request of the API under way: what the engine is asked, and the texts that go back. Pure: no
// connection, no thread, no clock.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "openai/body.h"
#include "openai/response.h"

namespace pando::openai {

class Job {
 public:
  virtual ~Job() = default;

  std::vector<Request> requests;  // to be asked together
  bool stream = false;            // hear() and end() are used, otherwise body()
  bool cached = true;             // what it computes may be shared with what comes later
  // The field of its body that says how long answers may get. Null: none, they get what the context
  // has room for.
  const char* length_field = nullptr;
  // What whoever runs the server should know about what is asked; empty: nothing.
  std::string warning;

  // Where in its body requests[request] comes from: "messages", "prompt[2]"; of several texts the
  // longest, which is to blame where together they are too long.
  virtual std::string place(size_t request) const = 0;

  // Of a stream: its first events, and those that an event of requests[request] gives. An event is
  // "data: {...}" and an empty line.
  virtual std::string begin() { return {}; }
  virtual std::string hear(size_t request, const Event& event);
  // Its last events, without the "[DONE]" behind them.
  virtual std::string end(const Completions&) { return {}; }
  // The whole answer. May take what it needs out of `completions`.
  virtual nlohmann::ordered_json body(Completions& completions) = 0;
};

std::string stream_event(const nlohmann::ordered_json& data);
constexpr std::string_view kStreamEnd = "data: [DONE]\n\n";  // behind the last one

// What a job may ask for, counted before it is made: requests, and the bytes of all their prompts
// and lists, which stand in a body once where they are shared.
class Bounds {
 public:
  static constexpr size_t kMostRequests = 16384, kMostBytes = size_t{128} << 20;
  explicit Bounds(size_t most_bytes = kMostBytes) : most_bytes_(most_bytes) {}
  // kInvalidArgument where it is too much.
  Status add(size_t n_requests, size_t bytes_each);
  bool has_too_many_bytes() const { return n_bytes_ > most_bytes_; }

 private:
  const size_t most_bytes_;
  size_t n_requests_ = 0, n_bytes_ = 0;
};

// What a job is made with.
struct JobContext {
  const Model& model;
  int context;            // the engine's, in tokens
  int max_answers;        // that one request may ask for, besides one for each prompt
  Envelope envelope;      // of its answer
  Bounds& bounds;         // for what is tokenised
  std::string_view text;  // of the body
  const std::function<bool()>& given_up;  // true: nobody waits for what is made
};

// kInvalidArgument for lists of a body ("stop", "stop_token_ids", "logit_bias") that every prompt
// gets a copy of, where they are too long.
Status check_lists(const nlohmann::json& body);
// kInvalidArgument where they ask for less than one answer, for too many, or, in `top_field`, for
// too many of the likeliest tokens.
Status check_answers(const std::vector<Request>& requests, const JobContext& context,
                     const char* top_field);
// kTooLong where a request of the job, its prompt in tokens, asks for more than the context holds.
Status check_length(const Job& job, size_t request, int context);
// Cuts an answer whose length its body does not say to what there is room for, in tokens of prompt
// and answer.
void fit_length(Job& job, size_t request, size_t room);
// kInvalidArgument where the log-probabilities that a job asks for, its prompts in tokens, take
// more memory than one request may.
Status check_logprobs(const Job& job);
// Says in each request of a job, prompts in tokens, how many tokens the others have beside its own,
// and those behind it; what one shares with the one before it counts once (Request::tokens_beside,
// tokens_behind).
void count_beside(std::vector<Request>& requests);
// How many log-probabilities a request reports at most.
uint64_t logprob_count(const Request& request);
// What the engine says of a request of the job, as its client knows it: for "prompt", the place
// that this comes from; of a list the message says it too.
Error of_request(const Job& job, size_t request, Error error);

// Makers of jobs, from bodies. Errors: kInvalidArgument, those of the model's tokenizer, and
// kUnavailable where it is given up.
using MakeJob = Result<std::unique_ptr<Job>>(const nlohmann::json& body, const JobContext& context);
MakeJob make_completions_job, make_chat_job, make_embeddings_job;
// {"query", "documents": [text or {"text", ...}, ...]}, answered as by Jina or by Cohere; of the
// former also {"query", "texts"}, answered as by text-embeddings-inference.
MakeJob make_rerank_job, make_cohere_rerank_job;
// {"text_1", "text_2"}, relevance of pairs, or {"prompt", "continuations"}, likelihoods.
MakeJob make_score_job;

}  // namespace pando::openai
