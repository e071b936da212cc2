// A run reports this when it is over.
#pragma once

#include <string>

#include "cli/run_options.h"
#include "cli/task_nouns.h"
#include "pando/batch.h"

namespace pando::cli {

// One run over the input with one planner.
struct RunRecord {
  std::string sharing;
  BatchSummary summary;
  bool was_finished = false;  // by an earlier run; only that one knew times and tokens
};

// The time, such as 2026-01-31T12:00:00Z.
std::string utc_now();

// Prompt tokens that were not computed because another answer's computation served, in [0, 1].
double share_reused(const BatchSummary& summary);

// Stands before a line for people about output that has a warning (SharingInfo); empty for none.
std::string warning_mark(const std::string& warning);

// A text on one line, control characters escaped.
std::string quoted(const std::string& text);

// Lines for people: one for all answers with references, one for each group; nothing for none.
std::string score_table(const RunRecord& run);

// A line for people: answers, rates, share reused, hash, commit, machine.
std::string footer(const RunRecord& run, const TaskNouns& nouns, const EngineOptions& options);

// The whole report as JSON. `compared` may be null.
std::string report_json(const RunRecord& run, const RunRecord* compared, const Engine& engine,
                        const RunOptions& options);

// Says whether a file holds the report that the run itself wrote when it finished. That one has
// times and tokens; `report`, of the same run, lacks them.
bool holds_fuller_report(const std::string& path, const std::string& report);

// kInvalidArgument for a file that is no report: its content would be lost.
Status may_hold_report(const std::string& path);

}  // namespace pando::cli
