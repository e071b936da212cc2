// Lines of a batch: objects of an input, and the lines that answer them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ask/job.h"
#include "base/fields.h"
#include "base/json.h"
#include "pando/batch.h"

namespace pando::ask {

// Holds what was answered at once: a question of a line, or all of it.
struct Answered {
  const Question* question = nullptr;                // the first; null where there is none
  std::span<const std::vector<Completion>> answers;  // [questions][n]
  // [requests][n] of questions with choices, for what their answers do not hold.
  std::span<const std::vector<Completion>> completions;
  const Error* error = nullptr;  // instead of answers
};

// Answers are written with these.
struct LineWriting {
  const Model& model;  // gives the text of single tokens
  const BatchOptions& options;
  int64_t created = 0;  // seconds since 1970
};

class Line : public Job {
 public:
  // Says why this one of an OpenAI batch, which answers bad requests too, cannot be asked.
  std::optional<Error> refused;

  // Says whether each question is answered, written and scored by itself; else the line as a whole.
  virtual bool answers_apart() const { return false; }
  // The field whose values tell lines apart; null: none does.
  virtual const char* unique_field() const { return nullptr; }
  // The objects of the output. None for an error that the form has no place for.
  virtual std::vector<Json> written(const Answered& answered, const LineWriting& with) const = 0;
  // Adds what a summary says of answers of this form alone.
  virtual void count(const Completion&, BatchSummary&) const {}
};

std::vector<Json> one_object(Json object);

// A line that asks for results of one text. Output: {"id", "wrong"?, ..., "prompt_tokens",
// "cut_tokens"?, "metadata"?}.
class TextLine : public Line {
 public:
  std::vector<Json> written(const Answered& answered, const LineWriting& with) const override;
  // Adds the question, with the line's id and no answer.
  void ask(Question question);

 protected:
  virtual void add_results(const Completion& answer, const LineWriting& with,
                           Json& output) const = 0;
};

// Lines are read with these.
struct LineContext {
  uint64_t number = 0;                                  // the id of a line that brings none
  const BatchOptions& options;                          // they hold if the line says nothing
  const Result<EmbedOptions>& embed;                    // as the model has it, or why it has none
  std::span<const std::string_view> other_fields = {};  // that others read
};

// Readers of lines, by task. kInvalidArgument names field, found and expected.
using ReadLine = Result<std::unique_ptr<Line>>(const Json& json, const LineContext& context);
ReadLine read_answer_line;  // of Pando's own form or an OpenAI batch's
ReadLine read_openai_line, read_embed_line, read_rerank_line, read_score_line, read_classify_line;
ReadLine* line_reader(BatchTask task);

bool is_openai_line(const Json& json);
// Each document has a name of its own, its id or else its index, and all names are those of a TREC
// run. kInvalidArgument.
Status check_trec_ids(const Line& line);

// Lines of several forms have these in common:
// kInvalidArgument for what is no object. Sets id and options.
Status begin_line(const Json& json, const LineContext& context, Job& job);
// The field 'id', which is there, of a `what`.
Result<std::string> read_id(const Json& object, const char* what);
// 'metadata', sorted by name, over what is in `out` already.
void read_metadata(Fields& fields, Json& out);

}  // namespace pando::ask
