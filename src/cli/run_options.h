// The options of `pando run` and `pando verify`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/generation_defaults.h"
#include "cli/model_options.h"
#include "pando/batch.h"

namespace pando::cli {

struct RunOptions {
  ModelArguments model;
  std::string input;
  std::string format = "auto";
  std::vector<std::string> columns;  // NAME=COLUMN, as they were given
  std::vector<std::string> with;     // names of ExtraFields
  std::string output = "-";
  bool resume = false;
  bool overwrite = false;
  std::string report;
  std::string progress_log;
  std::string compare;
  double verify = 0;  // share of the questions
  std::string too_long = "error";
  int show = 0;
  uint64_t dry_run = 0;  // print so many prompts and ask nothing
  bool quiet = false;
  bool verbose = false;
  DefaultsArguments generation;
  IsGiven given = [](const std::string&) { return false; };
  OutputForm form;  // of `output`
  BatchOptions batch;
};

// Tells which options were given to the command; false for options that it does not have.
IsGiven given_to(const CLI::App& app);

// The format that `format` names; "auto": by the ending of the path.
InputFormat format_of(const std::string& path, const std::string& format);

// --input, and how its lines are read.
void add_input_options(CLI::App& app, RunOptions& options);
// The input options, and those for computing answers and printing progress.
void add_engine_options(CLI::App& app, RunOptions& options);
// Adds the options that say where the answers go.
void add_output_options(CLI::App& app, RunOptions& options);

void add_run_options(CLI::App& app, RunOptions& options);
void add_verify_options(CLI::App& app, RunOptions& options);

// Fills in what follows from others. The error says which options contradict each other.
Status settle(RunOptions& options);
}  // namespace pando::cli
