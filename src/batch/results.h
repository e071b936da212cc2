// Results of records that are over: lines of the output, scores, counts and messages.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ask/output_table.h"
#include "batch/open_line.h"
#include "batch/scoring.h"
#include "pando/batch.h"

namespace pando {

class Results {
 public:
  Results(const Model& model, AnswerSink& output, const BatchOptions& options)
      : model_(model), output_(output), options_(options) {
    if (options.output != OutputFormat::kJsonLines) table_.emplace(options);
  }

  // Columns of the input that come back with each answer.
  void take_input_columns(const std::vector<std::string>& names) {
    if (table_) table_->take_input_columns(names);
  }
  // A line was read: the first one says whether questions have choices of their own.
  void take_line(const ask::Line& line);
  // A record was read, and keeps its place where order is wanted.
  void take(const std::shared_ptr<OpenRecord>& record);
  // All of it is answered, or it has an error.
  void end(OpenRecord& record);
  // They are over without either, and left for a later run.
  void take_back(const std::vector<std::shared_ptr<OpenRecord>>& records);
  // Answers of a run that this one resumes.
  Status take_earlier(const OpenRecord& record, const AnswerRecord& found);

  // Names what lines of the input are called: "object" where they stand in an array.
  void name_place(const char* name) { place_ = name; }
  void problem(uint64_t line, const std::string& message) const;
  // A line that asks for nothing that could be answered.
  void bad_line(uint64_t line, const Error& error) const;
  // Reports what is left of lines that did not come to their end.
  void report_rest();

  BatchSummary& summary() { return summary_; }
  const BatchSummary& summary() const { return summary_; }
  // Records of a replica that wait for those before them.
  int64_t n_held(size_t replica) const { return replica < n_held_.size() ? n_held_[replica] : 0; }
  uint64_t n_earlier() const { return n_earlier_; }    // questions
  uint64_t bytes_done() const { return bytes_done_; }  // of the input

 private:
  void write_in_order();
  void write(OpenRecord& record);
  void add_problem(OpenRecord& record);
  void report(OpenLine& line);
  void note(OpenRecord& record, const ask::Question& question,
            const std::vector<Completion>& answers);

  const Model& model_;
  AnswerSink& output_;
  const BatchOptions& options_;
  std::deque<std::shared_ptr<OpenRecord>>
      in_order_;  // read, not written; only where order is wanted
  std::vector<std::shared_ptr<OpenLine>> with_problems_;
  std::vector<int64_t> n_held_;  // by replica
  uint64_t n_earlier_ = 0;
  uint64_t bytes_done_ = 0;
  const char* place_ = "line";
  BatchSummary summary_;
  Scoring scoring_{options_, summary_};
  std::optional<ask::OutputTable> table_;
  bool has_first_line_ = false;
  bool has_header_ = false;  // of the table, in this run
};

}  // namespace pando
