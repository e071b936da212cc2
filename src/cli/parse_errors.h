// Messages about a command line, or a file of options, that cannot be read.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace pando::cli {

// An unknown command or option with the nearest one; what is wrong with the file of --config; else
// what the parser says. Changes the options of `app`.
std::string explain(CLI::App& app, const CLI::ParseError& error,
                    const std::vector<std::string>& arguments);

// A number that the parser took and does not read as it is meant: "010" as 8. Empty: there is none.
// To be called when `app` has parsed.
std::string misread(const CLI::App& app);

// Null if there is none of this name.
CLI::App* find_command(CLI::App& app, const std::string& name);
// The message about a command, or an option in a section of a file, that there is not.
std::string unknown_command(const CLI::App& app, const std::string& name);
std::string unknown_name(const CLI::App& section, const std::string& name);

bool takes_number(const CLI::Option& option);
// Gives the option these values, at least one. Returns the message if they are wrong.
std::string wrong_values(CLI::Option& option, const std::string& name,
                         const std::vector<std::string>& values);

}  // namespace pando::cli
