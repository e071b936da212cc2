// The file of --config: TOML with a table for each command.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <istream>
#include <string>
#include <string_view>
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

// Sets the options of a command to those of a table.
using TakeOptions = std::function<void(CLI::App& command)>;

// Calls `on_table` for each table of `section`, [section.NAME], in the order of the file. The file
// has nothing else. Throws CLI::ConfigError that names file and line.
void read_tables(const std::string& path, std::string_view text, const std::string& section,
                 const std::function<void(const std::string& name, const TakeOptions&)>& on_table);

}  // namespace pando::cli
