// Bodies of the HTTP API: what the engine is asked for one, and the texts that go back. Pure: no
// connection, no thread, no clock.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ask/envelope.h"
#include "ask/errors.h"
#include "ask/job.h"
#include "ask/response_store.h"
#include "ask/serving_fields.h"
#include "ask/stream_event.h"
#include "base/json.h"
#include "pando/generation_config.h"
#include "task/question_completions.h"

namespace pando::ask {

// Bounds what a body may ask for, counted before it is made: requests, and the bytes of all their
// prompts and lists, which stand in a body once where they are shared.
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

// Bodies are read with these.
struct BodyContext {
  const Model& model;
  int context;                            // the engine's, in tokens
  int max_answers;                        // that one body may ask for, besides one for each prompt
  Envelope envelope;                      // of its answer
  Bounds& bounds;                         // for what is tokenised
  const GenerationConfig& defaults;       // sampling defaults, for options that it does not set
  const std::function<bool()>& given_up;  // true: nobody waits for what is made
  ResponseStore* responses = nullptr;     // outlives the body; null: nothing is kept
  uint64_t isolation_key = 0;             // of whoever asks
};

class Body : public Job {
 public:
  explicit Body(const BodyContext& context) : envelope_(context.envelope) {
    warning = envelope_.warning;
  }

  std::vector<Request> requests;  // of all questions, to be asked together
  bool stream = false;            // begin(), on_event() and end() write; otherwise answer() does
  // A stream that another server began, up to Request::begun of each request: nothing that it told
  // is written again.
  bool goes_on = false;
  // on_event() writes comments with the tokens of its events, for the router that reads the stream
  // (docs/http-api.md); needs Request::tells_tokens.
  bool tells_tokens = false;
  ServingFields serving;
  // Its field that says how long answers may get. Null: none, they get what the context has room
  // for.
  const char* length_field = nullptr;
  bool is_stored = false;         // finish() waits for a disk
  bool counts_reasoning = false;  // finish() tokenises the answer's
  // Tells whoever runs the server what to know about what is asked; empty: nothing.
  std::string log_note;

  // Says where in the body requests[request] comes from: "messages", "prompt[2]"; of several texts
  // the longest, which is to blame where together they are too long.
  virtual std::string place(size_t request) const = 0;
  // Names the field that says the form of its answers, where it has one.
  virtual std::string form_place(size_t) const { return "schema"; }
  // Translates an error of a request, at a place in the prompt, to a place in the body as sent.
  virtual Error translated(Error error) const { return error; }

  // The content type of a stream.
  virtual const char* stream_type() const { return "text/event-stream; charset=utf-8"; }
  // A stream has these: its first events, those that an event of requests[request] gives, and its
  // last ones (stream_event.h).
  virtual std::string begin() { return {}; }
  std::string on_event(size_t request, Event event);
  // The other server told an answer that has no tokens; choice `n` of a question's first request:
  // all answers of the question.
  void set_told(size_t request, size_t choice) { told_without_tokens_.emplace(request, choice); }
  virtual std::string end() { return {}; }
  // Events of a stream that ends early, before the one for the error.
  virtual std::string fail(const HttpError&) { return {}; }
  // Stores the answer if the body asks for that. Called once, when all completions are there,
  // before answer() or end().
  virtual Status finish() { return {}; }
  // The whole answer, once all completions are there.
  virtual Json answer() = 0;

 protected:
  // Adds it with its requests; its prompt is in these from then on. Errors: as requests_of, and
  // kUnavailable where the body is given up.
  Status add_question(const BodyContext& context, Question question);

  // In a stream, says what an event says by itself, and what is said when a question is answered,
  // whose completions may be taken.
  virtual std::string write_event(size_t, const Event&) { return {}; }
  virtual std::string write_answers(size_t) { return {}; }

  QuestionCompletions& completions() { return completions_; }
  const QuestionCompletions& completions() const { return completions_; }

  // "usage" of prompts alone, and "sharing" where it is wanted; of `n_alike` in a row of what was
  // asked the prompt counts once.
  void add_prompt_usage(Json& answer, size_t n_alike) const;
  uint64_t n_of(int Completion::*count, size_t n_alike) const;  // prompt_tokens, or cut_tokens

  // Adds the field "warnings" to an answer if there are any. A warning is about a request that is
  // odd but not wrong.
  void add_warnings(Json& answer) const;
  bool has_warnings() const { return !warnings_.empty(); }
  // Keeps a warning once, however often it is given. An empty text is no warning.
  void warn(const std::string& field, const std::string& text);

  const Envelope envelope_;

 private:
  bool was_told(size_t request, const Event& event) const;
  // Warns of requests that were added, from `first` on.
  void warn_of_forms(const Model& model, size_t first);

  std::vector<std::string> warnings_;
  std::unordered_set<std::string> told_;  // the same texts, to find one quickly
  QuestionCompletions completions_;
  std::set<std::pair<size_t, size_t>> told_without_tokens_;  // request, choice
};

// Readers of bodies, which are objects. Errors: kInvalidArgument, those of the model's tokenizer,
// and kUnavailable where it is given up.
using ReadBody = Result<std::unique_ptr<Body>>(const Json& json, const BodyContext& context);
ReadBody read_completions_body, read_chat_body, read_embeddings_body, read_responses_body;
// {"context", "questions"}, as lines have them.
ReadBody read_answers_body;
// {"query", "documents": [text or {"text", ...}, ...]}, answered as by Jina or by Cohere; of the
// former also {"query", "texts"}, answered as by text-embeddings-inference.
ReadBody read_rerank_body, read_cohere_rerank_body;
// {"text_1", "text_2"}, relevance of pairs, or {"prompt", "continuations"}, likelihoods.
ReadBody read_score_body;
// {"input": text or texts}, labels of texts or of their tokens by a classifier.
ReadBody read_classify_body;
// The Messages API of Anthropic.
ReadBody read_anthropic_body;
// Mistral's completions with a "suffix", answered as chats.
ReadBody read_fim_body;
// The API of text-embeddings-inference: vectors of texts, vectors and weights of their tokens, and
// labels.
ReadBody read_tei_body, read_tei_tokens_body, read_tei_weights_body, read_tei_predict_body;
// The API of text-generation-inference: an answer, a stream of tokens, or by "stream" either. The
// last is read at "/", where text-embeddings-inference answers too.
ReadBody read_tgi_body, read_tgi_stream_body, read_inference_body;
// The API of Cohere, version 2.
ReadBody read_cohere_chat_body, read_cohere_embed_body;
// The API of Ollama. The older form of embeddings has one text and one vector.
ReadBody read_ollama_chat_body, read_ollama_generate_body, read_ollama_embed_body,
    read_ollama_embedding_body;
// llama-server's own API: a completion, and what fills a gap between two texts.
ReadBody read_llama_completion_body, read_llama_infill_body;
// {"input_tokens"} of the prompt of such a body, which needs no "max_tokens".
Result<Json> count_anthropic_tokens(const Json& json, const BodyContext& context);

}  // namespace pando::ask
