// Answers of an output file, gathered by the questions that they answer.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "batch/record_scanner.h"
#include "pando/evaluate.h"
#include "text/matcher.h"

namespace pando {

// One answer, of a whole document or of a part of it.
struct EvaluatedAnswer {
  size_t part = 0;
  std::string text;
  double logprob = 0;             // of the chosen text, where it was chosen
  bool is_choice = false;         // it was chosen from given texts
  std::vector<double> of_fields;  // [score_fields]
};

struct EvaluatedQuestion {
  const char* place = "";  // "line" or "object",
  uint64_t line = 0;       // and its number
  std::string group, cluster;
  bool has_references = false;
  std::vector<std::string> references;
  std::map<uint64_t, std::vector<EvaluatedAnswer>> answers;  // by their choice; of parts
};

class EvaluatedLines {
 public:
  // Errors: kInvalidArgument for an expression that cannot be read.
  static Result<EvaluatedLines> open(const EvaluateOptions& options);

  // Takes a record of the input. Errors: kInvalidArgument for what the record lacks.
  Status take(const InputRecord& record);

  const std::vector<EvaluatedQuestion>& questions() const { return questions_; }
  uint64_t n_rows() const { return n_rows_; }  // lines, without the names of columns

 private:
  explicit EvaluatedLines(const EvaluateOptions& options) : options_(options) {}

  Result<Json> object_of(const InputRecord& record);
  Result<EvaluatedAnswer> answer_of(const Json& line) const;
  Status extract(std::string& text) const;
  // Nothing where there are none, or no metric needs them.
  Result<std::optional<std::vector<std::string>>> references_of(const Json& line) const;
  EvaluatedQuestion& question_of(const Json& line, uint64_t& choice, size_t part);

  const EvaluateOptions& options_;
  std::shared_ptr<const Matcher> extract_;
  std::vector<std::string> columns_;
  std::vector<EvaluatedQuestion> questions_;
  std::map<std::string, size_t> last_;  // question of each key
  uint64_t n_rows_ = 0;
};

// The answers about parts of a document as one.
std::string whole_answer(std::vector<EvaluatedAnswer> parts);

}  // namespace pando
