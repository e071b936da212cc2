// From records of an input to lines of a batch.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ask/input_table.h"
#include "ask/line.h"
#include "batch/record_scanner.h"

namespace pando {

// The options, and what they leave to the model's files. Errors: as embed_options_for and
// rerank_options_for.
Result<BatchOptions> options_for_model(const Model& model, BatchOptions options);

class LineParser {
 public:
  // `model` and `context`, its length in tokens, decide what is too long.
  LineParser(const Model& model, int context, const BatchOptions& options)
      : model_(model),
        context_(context),
        options_(options),
        embed_(embed_options_for(model, options.embed)) {
    for (const auto& [name, field] : options.columns) unseen_fields_.insert(field);
  }

  // Null for the row that names the columns. An error is one of this record, or, where `failed`
  // says so, of the whole input. Ids of a line that `was_answered` are not refused.
  Result<std::unique_ptr<ask::Line>> parse(const InputRecord& record, bool was_answered = false);
  bool failed() const { return failed_; }
  // After the last record: fields that were to be read and that no line had.
  void end() const;
  // Columns of a table that come back as metadata; none before it names them.
  std::vector<std::string> other_columns() const {
    return table_ ? table_->others() : std::vector<std::string>();
  }
  uint64_t names_hash() const { return names_hash_; }  // of the names of columns; 0: none
  // Says whether the next record names the columns of a table.
  bool wants_names() const { return options_.format != InputFormat::kJsonLines && !table_; }

 private:
  Result<std::unique_ptr<ask::Line>> parse_one(const InputRecord& record);
  Status check_ids(const ask::Line& line);
  Status open_table(const InputRecord& record);
  // Warns of a record that is answered all the same.
  void warn(const InputRecord& record, const std::string& message) const;
  void warn_of_references(const InputRecord& record, const ask::Line& line) const;
  void warn_of_forms(const InputRecord& record, const ask::Line& line) const;
  void warn_of_end_token(const InputRecord& record, const ask::Line& line);
  void warn_of_prompt(const InputRecord& record, const ask::Line& line);

  const Model& model_;
  int context_;
  const BatchOptions& options_;
  Result<EmbedOptions> embed_;  // as the model has it, or why it has none
  std::optional<ask::InputTable> table_;
  std::set<std::string> queries_;        // that were read, where all need ids of their own
  std::set<std::string> unseen_fields_;  // of options_.columns
  bool has_lines_ = false;               // of JSON
  bool warned_of_end_token_ = false;
  bool warned_of_prompt_ = false;
  bool failed_ = false;
  uint64_t names_hash_ = 0;
};

}  // namespace pando
