// The batch runner: questions from a file of lines, answers to a file of JSON lines.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pando/answer.h"
#include "pando/answer_file.h"
#include "pando/batch_summary.h"
#include "pando/classify.h"
#include "pando/embed.h"
#include "pando/engine.h"
#include "pando/output_form.h"
#include "pando/rerank.h"
#include "pando/scores.h"

namespace pando {

// JSON lines, each an object of one of these forms, freely mixed:
//   {"id", "context", "questions": [...], "instruction"?, "template"?, options?}
//     with a question as "..." or {"id"?, "text", "answers"?: [...], "choices"?: [...],
//     "metadata"?}
//   {"id", "context", "question", "answers"?, options?}
//   {"id", "prompt" or "tokens" or "messages": [{"role", "content"}], "answers"?: [...], options?}
//     with messages also "tools", "tool_choice", "parallel_tool_calls", "thinking_budget",
//     "documents" and "chat_template_kwargs" (docs/chat.md)
//   {"custom_id", "method", "url": "/v1/completions", "/v1/chat/completions" or "/v1/embeddings",
//     "body"}, as in an OpenAI batch; what the body does not say comes from `defaults`
// Options are those of SamplingOptions, by their names, and:
//   "prompt_logprobs": true reports those of the prompt too;
//   "choices": [...]: the answer is the one that is likeliest behind the prompt, as AnswerOptions
//   says; "thinking": true or false, with messages, and with questions where `defaults.chat` is
//   set; "metadata": {...} comes back with each answer.
// A line without an id goes by its number, a question without one by its index from 0.
// Tables: the first row names the columns: context and question, or prompt; id, answer, choices
//   (a list in JSON, or texts separated by |), options; all others come back as metadata. For texts
//   to embed: text; id, instruction.
// Output, the lines of a question when all its answers are complete: {"id", "question_id"?,
//    "part"?, "parts"?, "choice"?, "text", "finish_reason", "prompt_tokens", "completion_tokens",
//    "logprobs"?, "top_logprobs"?, "prompt_logprobs"?, "prompt_top_logprobs"?, "choice_logprobs"?,
//    "logits_hash"?, "metadata"?}; for an OpenAI line {"id", "custom_id", "response", "error"}.
enum class InputFormat { kJsonLines, kCsv, kTsv };

// Task for the lines that are not an OpenAI batch's.
enum class BatchTask {
  kAnswer,  // as above
  // {"id", "text" or "tokens", "instruction"?, "metadata"?}; also a table
  //   -> {"id", "embedding": [...], "prompt_tokens", "cut_tokens"?, "metadata"?}
  kEmbed,
  // {"id", "query", "documents": ["..." or {"id"?, "text"}], "instruction"?, "metadata"?}
  //   -> {"id", "results": [{"index", "id"?, "score"}, ...], "prompt_tokens", "cut_tokens"?,
  //   "metadata"?},
  //   the highest score first
  kRerank,
  // {"id", "prompt", "continuations": [...], "target"?, "metadata"?}, or a line of the samples of
  // an evaluation harness: {"doc_id", "arguments": [[prompt, continuation], ...], "target"?, ...}
  //   -> {"id", "scores": [{"logprob", "tokens", "likeliest"}, ...], "best", "best_per_byte",
  //   "metadata"?}; "target" is the index of the right one, or its text
  kScore,
  // {"id", "text", "text_pair"?, "metadata"?}; also a table
  //   -> {"id", "label", "score", "labels": [{"label", "score"}, ...], "prompt_tokens",
  //   "cut_tokens"?, "metadata"?}, the highest score first; of a classifier of tokens "entities":
  //   [{"label", "score", "text", "start", "end"}, ...] in place of labels
  kClassify,
};

// True if the input of the task may be a table. Fields that are lists do not fit in cells.
bool takes_tables(BatchTask task);

// A prompt that with its answer does not fit the context is
enum class TooLong {
  kError,           // reported, and its question fails
  kSkip,            // reported and left out
  kTruncateMiddle,  // cut: the middle of the line's context, or of its prompt, is left out
  kSplit,           // cut: its questions are asked of each part of the line's context
};

struct BatchOptions {
  BatchTask task = BatchTask::kAnswer;
  AnswerOptions defaults;    // for lines that do not say otherwise
  EmbedOptions embed;        // how texts are embedded
  RerankOptions rerank;      // how relevance is asked for
  ClassifyOptions classify;  // how labels are told
  int top = 0;               // number of results of each query; 0: all
  bool trec_ids = false;     // refuse lines whose ids a TREC run cannot tell apart or hold
  InputFormat format = InputFormat::kJsonLines;
  // Names of fields, and of the columns or fields of the input that these are in.
  std::map<std::string, std::string> columns;
  OutputFormat output = OutputFormat::kJsonLines;
  ExtraFields with;  // of answers to questions
  TooLong too_long = TooLong::kError;
  bool ordered = false;  // answers in the order of the input
  std::string group_by;  // field of the metadata that scores are also reported by; empty: none
  // Once true, no more questions are begun, questions for which nothing is computed yet are taken
  // back, and the others are finished.
  const std::atomic<bool>* stop = nullptr;
  // The following are called from the thread that called run_batch, and may be empty. They must not
  // wait for an answer of the engine.
  std::function<void(const struct BatchProgress&)> on_progress;  // now and then
  // For a line or question that has no answer, was cut, or is probably a mistake.
  std::function<void(const std::string& message)> on_problem;
  // If set, called instead of on_problem for a line or question that has no answer.
  std::function<void(const struct BatchFailure&)> on_failure;
  std::function<void(const struct BatchAnswer&)> on_answer;  // for every answer
};

// Names an answer of a batch.
struct AnswerKey {
  uint64_t line = 0;    // number, from 1
  size_t question = 0;  // of the line, from 0
  int choice = 0;       // of the question's n, from 0
  // Orders answers as the input does.
  auto operator<=>(const AnswerKey&) const = default;
};

// An answer as it is written.
struct BatchAnswer {
  AnswerKey key;                 // its place in the input
  std::string id;                // of the line, and "/" and the question's where there are several
  std::string question;          // its text, or nothing for a plain line
  const Completion& completion;  // as long as the call takes
};

// A line or question that has no answer.
struct BatchFailure {
  uint64_t line = 0;                    // number, from 1
  std::optional<std::string> question;  // its id; absent: the whole line
  Error error;
};

// Progress of a run.
struct BatchProgress {
  uint64_t answers_done = 0;  // in this run
  // Answers of records (lines, or questions of them) under way; includes answers that are computed
  // while their record is not complete.
  uint64_t answers_open = 0;
  bool stopping = false;     // a stop was requested: only open answers are still finished
  double share_done = 0;     // of the input's bytes, in [0, 1]; 0 if the size is not known
  double share_earlier = 0;  // of that, the share answered before this run
  double seconds = 0;        // since the run began
  std::optional<double> seconds_left;  // estimated; absent if there is no basis
  EngineStats stats;                   // of this run
};

// Reads `input` to its end, on a thread of its own and not further ahead than a megabyte;
// `input_bytes` is its size, or 0 if that is not known. Bad lines are reported and the rest
// runs. Answers that `output` has from an earlier run are not asked for again. Errors: kIo where
// the output cannot be written or the input cannot be read on; answers that were written stay;
// kInvalidArgument for a table without the columns it needs, and for an input that is not that of
// the earlier run. With `defaults.chat` what Model::render_chat says of the default conversation,
// before anything is read. A stop returns once the read that is under way does.
Result<BatchSummary> run_batch(Engine& engine, std::istream& input, uint64_t input_bytes,
                               AnswerSink& output, const BatchOptions& options);
Result<BatchSummary> run_batch(Engine& engine, std::istream& input, uint64_t input_bytes,
                               std::ostream& output, const BatchOptions& options);

// Result of asking questions again.
struct BatchVerification {
  uint64_t answers = 0;                // asked again
  std::vector<std::string> different;  // ids of answers whose logits have changed
  double seconds = 0;                  // spent on asking again
};

// Asks the questions of some answers again, one after the other, and compares the logits bit by
// bit, by their hash. For an engine that shares nothing, and for the input and options of a batch
// that was run with `defaults.logits_hash`. Errors: of questions and lines that had an answer
// before.
Result<BatchVerification> verify_batch(Engine& engine, std::istream& input,
                                       const BatchOptions& options,
                                       const std::map<AnswerKey, uint64_t>& logits_hashes);

}  // namespace pando
