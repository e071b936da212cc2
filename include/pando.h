// Pando from C, and from every language that can call C: the library libpando-c.
//
// Handles are opaque. The caller frees each handle with its own function, which takes NULL too; the
// order of freeing does not matter. Texts are UTF-8 and end with a zero byte; sizes are in bytes
// and without it. Options are texts of JSON objects with the fields named below; NULL stands for
// {}. A function that can fail returns a pando_status and writes its results only on PANDO_OK,
// unless it says otherwise. No exception leaves a function.
//
// Threads: all functions may be called from any thread at any time, but those of one stream or job
// from one thread at a time. pando_cancel, pando_job_cancel and pando_job_put are free of this.
//
// Processes: after a fork, the child may use models, and open engines of its own. It gets
// PANDO_INVALID_ARGUMENT for engines, streams and jobs of its parent; freeing these does nothing
// there.
#ifndef PANDO_H
#define PANDO_H

#include <stddef.h>
#include <stdint.h>

// Names that the shared library shows.
#if defined(__GNUC__)
#define PANDO_API __attribute__((visibility("default")))
#else
#define PANDO_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// Above 0: errors, with a text (pando_last_error). Below 0: states of a stream.
typedef enum pando_status {
  PANDO_OK = 0,
  PANDO_INVALID_ARGUMENT = 1,  // a request or option that can never work
  PANDO_NOT_FOUND = 2,         // a file or directory that is not there
  PANDO_BAD_FILE = 3,          // a file exists but is malformed
  PANDO_UNSUPPORTED = 4,       // well-formed, and outside what this version offers
  PANDO_TOO_LONG = 5,          // prompt and answer exceed the context or the memory for it
  PANDO_UNAVAILABLE = 6,       // the engine's queue is full, or memory ran out
  PANDO_IO = 7,                // the operating system refused a read or a write
  PANDO_INTERNAL = 8,          // a bug
  PANDO_TIMEOUT = -1,          // nothing happened in time; ask again
  PANDO_END = -2,              // every answer is complete
  PANDO_CANCELLED = -3         // by pando_cancel
} pando_status;

typedef struct pando_model pando_model;    // weights and tokenizer; immutable
typedef struct pando_engine pando_engine;  // answers requests over a model
typedef struct pando_stream pando_stream;  // questions that are being answered, and their answers
typedef struct pando_job pando_job;        // other work over a model, as JSON

// "0.1.0"; static.
PANDO_API const char* pando_version(void);
// "ok", "invalid_argument", ...; static.
PANDO_API const char* pando_status_name(pando_status status);
// Message of the last call of this thread that failed, in one line: what was found, what was
// expected, and where; or "". Valid until the next one fails.
PANDO_API const char* pando_last_error(void);

// Place that the same call's error names: a JSON object with those of "file" (or what was read),
// "field" (of the request, such as "messages[2].role"), "option" (such as "kv_memory") and "tensor"
// that apply. Valid until the next one fails.
PANDO_API const char* pando_last_error_place(void);

// Loads a Hugging Face model directory or a GGUF file. Options: "weights" ("stored", "q8_0",
// "q4_0", "int8", "bf16_dot", or "f32", "f16", "bf16"), "tokenizer" (a path),
// "chat_template" (a file, or the name of one of the model's templates), "tool_format" (how the
// model writes tool calls; by default as its template shows), "threads" (for loading;
// 0: one for each fast processor), "device" (what computes; by default "cpu").
PANDO_API pando_status pando_model_load(const char* path, const char* options, pando_model** model);
// Engines and streams of the model go on.
PANDO_API void pando_model_free(pando_model* model);
// A JSON object: "family", "n_parameters", "n_layers", "d_model", "vocab", "max_positions",
// "weight_type", "weight_bytes", "has_tokenizer". Valid until the model is freed.
PANDO_API const char* pando_model_info(const pando_model* model);

// The next four write at most `capacity` units (tokens, bytes) and set the total number of units.
// If that is more than `capacity`, call again with room for it. Texts get no zero byte.
//
// Tokens of `size` bytes of text; `add_bos` (0 or 1): with the beginning-of-sequence token where
// the model wants one.
PANDO_API pando_status pando_encode(const pando_model* model, const char* text, size_t size,
                                    int add_bos, int32_t* tokens, size_t capacity,
                                    size_t* n_tokens);
// Text of tokens [n_tokens]; special tokens are left out, bytes that are no UTF-8 become U+FFFD.
PANDO_API pando_status pando_decode(const pando_model* model, const int32_t* tokens,
                                    size_t n_tokens, char* text, size_t capacity, size_t* size);
// The sampling options that the model's files recommended when it was loaded, as a JSON object that
// can be passed as options; "{}" if there are none. They have no effect unless they are passed.
PANDO_API pando_status pando_sampling_defaults(const pando_model* model, char* text,
                                               size_t capacity, size_t* size);
// Counters since the engine was opened, as a JSON object with the names of EngineStats
// (pando/engine.h).
PANDO_API pando_status pando_engine_stats(const pando_engine* engine, char* text, size_t capacity,
                                          size_t* size);

// Options: "sharing", "threads", "kv_memory" (bytes), "kv_type" ("f32", "f16", "bf16", "int8"),
// "context", "seed", "place_every", "step_rows", "max_running", "max_open", "isa", as EngineOptions
// (pando/engine.h) says.
PANDO_API pando_status pando_engine_open(const pando_model* model, const char* options,
                                         pando_engine** engine);
// The engine's thread ends here, or with the last of its streams.
PANDO_API void pando_engine_free(pando_engine* engine);

// Options of sampling and reporting: a JSON array of objects with "name", "type" ("integer",
// "number", "boolean", "text_list", "token_list", "token_numbers": an object of token ids and
// numbers), "help", "default" (null: none), and for numbers with bounds "minimum", "maximum" and
// "expected", the bounds in words. Static.
PANDO_API const char* pando_request_options(void);

// The following open a stream of one or more questions, which are worked on together. Options:
// those of sampling and reporting in a line of the batch runner's input (pando/batch.h) -
// "max_tokens", "temperature", "stop", "logprobs", and all others of pando_request_options - and
// "prompt_logprobs" and "logits_hash".

// Questions [n_questions] about one context. Options besides: "instruction", "template", "choices",
// "chat", "thinking". Sampling without a seed draws by the index of a question.
PANDO_API pando_status pando_ask(pando_engine* engine, const char* context,
                                 const char* const* questions, size_t n_questions,
                                 const char* options, pando_stream** stream);
// One prompt, as text.
PANDO_API pando_status pando_prompt(pando_engine* engine, const char* prompt, const char* options,
                                    pando_stream** stream);
// One prompt, as tokens [n_tokens].
PANDO_API pando_status pando_prompt_tokens(pando_engine* engine, const int32_t* tokens,
                                           size_t n_tokens, const char* options,
                                           pando_stream** stream);
// A whole line of input, as {"context": ..., "questions": [...]} or {"messages": [...]}; `line` has
// `size` bytes. Beside messages it may have "tools", "tool_choice", "parallel_tool_calls" and
// "thinking_budget".
PANDO_API pando_status pando_ask_line(pando_engine* engine, const char* line, size_t size,
                                      pando_stream** stream);
// Scores continuations [n] of a prefix: the prompt log-probabilities of completion i are those of
// the tokens of continuation i. Nothing is generated.
PANDO_API pando_status pando_score(pando_engine* engine, const char* prefix,
                                   const char* const* continuations, size_t n,
                                   pando_stream** stream);

// A call of a tool that an answer asks for.
typedef struct pando_tool_call {
  const char* id;         // the model's own, or nine letters and digits
  const char* name;       // of a tool that the request offers
  const char* arguments;  // text of a JSON object
  size_t arguments_size;  // bytes
} pando_tool_call;

// A finished answer. Everything belongs to the stream. A float is ln p under the model's own
// distribution; arrays that were not asked for are NULL with a size of 0.
typedef struct pando_completion {
  const char* text;              // without what ended it
  size_t text_size;              // bytes
  const int32_t* tokens;         // [n_tokens] generated, the ending token included
  size_t n_tokens;               // with those that ended it
  const float* logprobs;         // [n_tokens], with "logprobs"
  const int32_t* top_tokens;     // [n_tokens, n_top] the likeliest tokens first
  const float* top_logprobs;     // [n_tokens, n_top]
  const int32_t* prompt_scored;  // [n_prompt_scored] tokens of the prompt, with "prompt_logprobs"
  const float* prompt_logprobs;  // [n_prompt_scored]
  const uint8_t* prompt_likeliest;   // [n_prompt_scored] 1: no token is likelier
  const int32_t* prompt_top_tokens;  // [n_prompt_scored, n_top]
  const float* prompt_top_logprobs;  // [n_prompt_scored, n_top]
  size_t n_prompt_scored;            // the prompt but its first token
  size_t n_top;                      // "top_logprobs"
  const double* choice_logprobs;     // [n_choices], with "choices"
  size_t n_choices;                  // as many as were given
  size_t prompt_tokens;              // the prompt's length
  uint64_t logits_hash;              // XXH3-64 of the logits; 0 unless asked for
  const char* finish_reason;         // "stop", "length" or "context"
  const char* reasoning;             // the model's reasoning, in conversations; may be empty
  size_t reasoning_size;             // bytes
  const pando_tool_call* calls;      // [n_calls], with "tools"
  size_t n_calls;                    // 0: the answer is its text
} pando_completion;

// News of a question.
typedef struct pando_event {
  size_t question;   // index
  int32_t choice;    // of "n", from 0
  const char* text;  // new text of the answer, in whole characters; until the next call. May be
                     // empty: the first token of an answer is always told
  size_t text_size;  // bytes
  const pando_completion* completion;  // set if the answer is finished, otherwise NULL
  const char* reasoning;               // new text of the reasoning, as `text`
  size_t reasoning_size;               // bytes
  const pando_tool_call* calls;        // [n_calls] new calls, each whole; until the next call
  size_t n_calls;                      // may be 0
} pando_event;

// Waits at most `timeout_s` seconds (less than 0: for ever) for the next event. PANDO_OK,
// PANDO_TIMEOUT, PANDO_END, PANDO_CANCELLED or the error that ended all questions of the stream;
// once over, always the same.
PANDO_API pando_status pando_next(pando_stream* stream, double timeout_s, pando_event* event);
// Takes all events that are left. PANDO_OK once every answer is complete, otherwise as pando_next.
PANDO_API pando_status pando_wait(pando_stream* stream, double timeout_s);
// The answer to a question, or NULL as long as pando_next and pando_wait have not seen it. Valid
// until the stream is freed.
PANDO_API const pando_completion* pando_completion_of(const pando_stream* stream, size_t question,
                                                      size_t choice);
// Drops all that is not complete, at once; another thread that waits gets PANDO_CANCELLED.
PANDO_API void pando_cancel(pando_stream* stream);
// A file descriptor for poll() and event loops: readable once there may be news. Then call
// pando_next with a timeout of 0 until PANDO_TIMEOUT; also once a second where there is none, as an
// engine that was full does not tell when it has room. -1: the system gave none. It belongs to the
// stream.
PANDO_API int pando_stream_descriptor(pando_stream* stream);
// Cancels answers that are not complete.
PANDO_API void pando_stream_free(pando_stream* stream);

// Jobs take a text of JSON, their options, and give texts of JSON. Numbers have as many digits as
// their values need. Tasks, with the pages of docs/ that list the fields:
//   "embeddings"  body of /v1/embeddings -> its answer (http-api.md)
//   "rerank"      body of /v1/rerank -> its answer
//   "classify"    body of /v1/classify -> its answer: labels of texts, pairs of texts or tokens
//   "score"       body of /v1/score -> its answer: pairs of texts, or continuations
//   "perplexity"  {"text", "window"?, "stride"?} in tokens -> {"tokens", "bytes", "windows",
//                 "log_likelihood", "perplexity", "bits_per_byte"}
//   "batch"       {"task"?: "answer", "embed", "rerank", "classify" or "score", "ordered"?,
//                 "too_long"?, "with"?, options of all lines?} -> for lines that pando_job_put
//                 gives, those of the output (batch.md), as they are ready; {"failure": {"line",
//                 "question_id"?, "code", "message", "place"}} for what has no answer,
//                 {"warning": text}, and at the end {"summary": {"lines", "questions", "answers",
//                 "failed", ...}}
// Texts become tokens on a thread of the job: what is wrong with them, or with the fields of the
// first four tasks, is told by pando_job_next.
PANDO_API pando_status pando_job_open(pando_engine* engine, const char* task, const char* options,
                                      pando_job** job);
// Lines of a batch, `size` bytes with line breaks between them; NULL ends the input. PANDO_TIMEOUT:
// a megabyte waits already, and nothing was taken; take results first.
PANDO_API pando_status pando_job_put(pando_job* job, const char* lines, size_t size);
// Waits as pando_next for the next result, `size` bytes (may be NULL), valid until the next call.
// PANDO_END after the last one.
PANDO_API pando_status pando_job_next(pando_job* job, double timeout_s, const char** json,
                                      size_t* size);
// As pando_cancel and pando_stream_descriptor.
PANDO_API void pando_job_cancel(pando_job* job);
PANDO_API int pando_job_descriptor(pando_job* job);
// Cancels what is not complete, and waits until the engine has ended its step.
PANDO_API void pando_job_free(pando_job* job);

// Gets a result of a batch, valid during the call. Not 0: the run is cancelled.
typedef int (*pando_on_result)(void* user, const char* json, size_t size);
// A whole batch over lines [size bytes]; on_result is called from this thread, with `user`.
// PANDO_CANCELLED where it asked for that.
PANDO_API pando_status pando_run_batch(pando_engine* engine, const char* lines, size_t size,
                                       const char* options, pando_on_result on_result, void* user);

#ifdef __cplusplus
}
#endif

#endif  // PANDO_H
