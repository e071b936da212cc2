// Sampling defaults from a model's files, or from a file that the user names.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "pando/generation_config.h"

namespace pando::cli {

// Whether the command line gave an option, by its name: then that stays.
using IsGiven = std::function<bool(const std::string& option)>;

struct DefaultsArguments {
  bool required = false;  // --generation-config: it is an error if there are none
  std::string file;       // of this option; empty: the model's own
  bool ignored = false;   // --no-generation-config
};

void add_generation_options(CLI::App& app, DefaultsArguments& arguments, const std::string& group);

// The defaults that hold for the model at `model`; nothing where it brings none. They have the end
// tokens of --generation-config FILE alone: those of the model's files are the model's own.
Result<std::optional<GenerationConfig>> find_defaults(const DefaultsArguments& arguments,
                                                      const std::filesystem::path& model);

// Changes `sampling`, except options that are given. Returns one line that says what was taken and
// what was not. `otherwise` is what holds without a temperature.
std::string take_defaults(const GenerationConfig& config, const IsGiven& given,
                          const std::string& otherwise, SamplingOptions& sampling);

}  // namespace pando::cli
