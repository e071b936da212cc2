// The batch runner: questions from a file of JSON lines, answers to a file of JSON lines.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "pando/answer.h"
#include "pando/engine.h"

namespace pando {

// Input, one JSON object a line:
//   {"id", "context", "questions": [...], "instruction"?, "template"?, options?}
//     with a question as "..." or {"id"?, "text", "answers"?: [...], "choices"?: [...]}
//   {"id", "prompt" or "tokens" or "messages": [{"role", "content"}], "answers"?: [...], options?}
// Options are those of SamplingOptions, by their names, and:
//   "prompt_logprobs": true reports those of the prompt too;
//   "choices": [...]: the answer is the one that is likeliest behind the prompt, as AnswerOptions
//   says; "thinking": true or false, with messages, and with questions where `defaults.chat` is
//   set.
// A line without an id goes by its number, a question without one by its index from 0.
// Output, one line as each answer completes: {"id", "question_id"?, "choice"?, "text",
//    "finish_reason", "prompt_tokens", "completion_tokens", "logprobs"?, "top_logprobs"?,
//    "prompt_logprobs"?, "prompt_top_logprobs"?, "choice_logprobs"?, "logits_hash"?}
struct BatchOptions {
  AnswerOptions defaults;      // for lines that do not say otherwise
  bool skip_too_long = false;  // a prompt that does not fit is left out instead of being an error
  // These are called from the thread that called run_batch, and may be empty.
  std::function<void(const struct BatchProgress&)> on_progress;  // now and then
  std::function<void(const std::string& message)> on_problem;    // a line or question has no answer
  std::function<void(const struct BatchAnswer&)> on_answer;      // for every answer
};

// Names an answer of a batch.
struct AnswerKey {
  uint64_t line = 0;    // number, from 1
  size_t question = 0;  // of the line, from 0
  int choice = 0;       // of the question's n, from 0
  // In the order of the input.
  auto operator<=>(const AnswerKey&) const = default;
};

// An answer as it is written.
struct BatchAnswer {
  AnswerKey key;                 // where it stands in the input
  std::string id;                // of the line, and "/" and the question's where there are several
  std::string question;          // its text, or nothing for a plain line
  const Completion& completion;  // as long as the call takes
};

// How far a run is.
struct BatchProgress {
  uint64_t answers_done = 0;  // written so far
  double share_read = 0;      // of the input's bytes, in [0, 1]; 0 where the size is not known
  double seconds = 0;         // since the run began
  EngineStats stats;          // of this run
};

// What a run did.
struct BatchSummary {
  uint64_t lines = 0;      // with content
  uint64_t bad_lines = 0;  // reported and left out
  uint64_t answers = 0;    // written
  uint64_t failed = 0;     // questions of good lines that could not be answered
  uint64_t skipped = 0;    // too long, left out as asked
  uint64_t scored = 0;     // answers with reference answers
  double exact_match = 0;  // mean over scored answers, in [0, 1]
  double token_f1 = 0;     // mean over scored answers, in [0, 1]
  double seconds = 0;      // from the first line read to the last answer written
  uint64_t combined_hash =
      0;              // of ids and logits hashes of all answers, in any order; 0 without hashes
  EngineStats stats;  // of this run
};

// Reads `input` to its end and no further ahead than the engine needs; `input_bytes` is its size,
// or 0 where that is not known. Bad lines are reported and the rest runs. Errors: kIo where the
// output cannot be written or the input cannot be read on; answers that were written stay. With
// `defaults.chat` what Model::render_chat says of the default conversation, before anything is
// read. Any thread; the streams are used by it alone.
Result<BatchSummary> run_batch(Engine& engine, std::istream& input, uint64_t input_bytes,
                               std::ostream& output, const BatchOptions& options);

// What asking again has found.
struct BatchVerification {
  uint64_t answers = 0;                // asked again
  std::vector<std::string> different;  // ids of those whose logits are others than before
  double seconds = 0;                  // that asking again took
};

// Asks the questions of some answers again, one after the other, and compares the logits bit by
// bit, by their hash. For an engine that shares nothing and the input and defaults of a batch that
// was run with `defaults.logits_hash`. Errors: those of questions and lines that were answered
// before.
Result<BatchVerification> verify_batch(Engine& engine, std::istream& input,
                                       const AnswerOptions& defaults,
                                       const std::map<AnswerKey, uint64_t>& logits_hashes);

}  // namespace pando
