// The options of `pando serve`.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/generation_defaults.h"
#include "cli/model_options.h"
#include "cli/server_options.h"

namespace pando::cli {

struct ServeOptions : ServerArguments {
  ModelArguments model;
  DefaultsArguments generation;
  std::string router_key_file;
  std::string models_file;  // --models; empty: one model
  size_t memory = 0;        // --memory; 0: three quarters of the free memory
  double step_budget_ms = 0;
  std::vector<std::string> public_prefixes;   // NAME=FILE
  std::vector<std::string> deadline_classes;  // NAME=TTFT,TPOT
};

// Adds them to the parser, with their defaults.
void add_serve_options(CLI::App& app, ServeOptions& o);

// Checks them and reads the files that they name. An exit code; what is wrong is printed.
int read_serve_options(ServeOptions& o);

}  // namespace pando::cli
