// A run's answers go here.
#pragma once

#include <memory>
#include <optional>

#include "cli/output_files.h"
#include "cli/run_options.h"

namespace pando::cli {

// An output file that holds something is neither gone on with nor overwritten unless asked for.
Status may_write(const RunOptions& options, const OutputFile& output);

struct Answers {
  std::unique_ptr<AnswerSink> sink;     // null where an earlier run has finished,
  uint64_t n_left_out = 0;              // which left out so many lines and questions,
  std::optional<BatchSummary> summary;  // and kept this
};
// Without `output` they go nowhere.
Result<Answers> open_answers(const RunOptions& options, const Engine& engine, OutputFile* output);

}  // namespace pando::cli
