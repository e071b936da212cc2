// Sampling defaults from the model's files, or from a file that the user names.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>

#include "base/model_path.h"
#include "pando/generation_config.h"

namespace pando::cli {

// Says whether the command line gave an option, by its name: then that stays.
using IsGiven = std::function<bool(const std::string& option)>;

struct DefaultsArguments {
  bool required = false;  // --generation-config: no defaults are an error
  std::string file;       // its FILE; empty: the model's own
  bool ignored = false;   // --no-generation-config
};

void add_generation_options(CLI::App& app, DefaultsArguments& arguments, const std::string& group);

// The defaults for the model at `model`, or nothing if it has none. Their end tokens are those of
// --generation-config FILE alone: the model itself has those of its own files.
Result<std::optional<GenerationConfig>> find_defaults(const DefaultsArguments& arguments,
                                                      const ModelPath& model);

// Changes `sampling`, except options that the user gave. Returns one line that says what was taken
// and what was not. `otherwise`: words for the case that there is no temperature.
std::string take_defaults(const GenerationConfig& config, const IsGiven& given,
                          const std::string& otherwise, SamplingOptions& sampling);

}  // namespace pando::cli
