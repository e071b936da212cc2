// Messages about a command line, or a file of options, that cannot be read.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace pando::cli {

// The message: an unknown command or option with the nearest one, an error in the file of --config,
// or else the parser's own message. Changes the options of `app`.
std::string explain(CLI::App& app, const CLI::ParseError& error,
                    const std::vector<std::string>& arguments);

// The message about a number that the parser reads in an unexpected way, such as "010" as 8; empty
// if there is none. Call it when `app` has parsed.
std::string misread(const CLI::App& app);

// Null if there is no command of this name.
CLI::App* find_command(CLI::App& app, const std::string& name);
// The message about an unknown command, or an unknown option in a section of a file.
std::string unknown_command(const CLI::App& app, const std::string& name);
std::string unknown_name(const CLI::App& section, const std::string& name);

bool takes_number(const CLI::Option& option);
// Gives the option these values, at least one. Returns the message if they are wrong.
std::string wrong_values(CLI::Option& option, const std::string& name,
                         const std::vector<std::string>& values);

}  // namespace pando::cli
