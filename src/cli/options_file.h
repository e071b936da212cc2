// The file of --config: TOML with a table for each command.
#pragma once

#include <CLI/CLI.hpp>
#include <istream>
#include <string>
#include <vector>

namespace pando::cli {

// Sets the options itself, so that an error names file and line. Throws CLI::ConfigError. Options
// of the command line keep their values.
class OptionsFile : public CLI::Config {
 public:
  explicit OptionsFile(CLI::App& app) : app_(app) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& file) const override;
  std::string to_config(const CLI::App*, bool, bool, std::string) const override { return {}; }

 private:
  CLI::App& app_;
};

}  // namespace pando::cli
