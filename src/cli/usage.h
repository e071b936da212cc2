// Messages about a command line, or a file of options, that cannot be read.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace pando::cli {

// One line about an error of the parser.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

// Null if there is no command of this name.
CLI::App* find_command(CLI::App& app, const std::string& name);
// The message about an unknown command, or an unknown option, with the nearest name.
std::string unknown_command(const CLI::App& app, const std::string& name);
std::string unknown_option(const CLI::App& command, const std::string& name);

bool takes_number(const CLI::Option& option);
// Adds a check to every option of a command that takes a number: the parser would read "010" as 8,
// and has no words for what is not a number.
void check_numbers(CLI::App& app);

}  // namespace pando::cli
