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

// What is wrong in the file of --config though the parser took it: it keeps the first of several
// lines for an option. Empty: nothing. To be called when `app` has parsed.
std::string repeated_in_file(CLI::App& app);

}  // namespace pando::cli
