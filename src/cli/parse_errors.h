// What is said of a command line, or of a file of options, that cannot be read.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace pando::cli {

// An unknown command or option with the nearest one; what is wrong in the file of --config, with
// its line; else what the parser says. Changes the options of `app`.
std::string explain(CLI::App& app, const CLI::ParseError& error,
                    const std::vector<std::string>& arguments);

// What the parser took and does not read as it is meant: "010" as 8, and of several lines for an
// option in the file of --config only the first. Empty: nothing. To be called when `app` has
// parsed.
std::string misread(CLI::App& app);

}  // namespace pando::cli
