// Texts of prompts on the command line: what they may be written with, and templates from files.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace pando::cli {

// For the footer of a command that has such options.
constexpr const char* kEscapesHelp =
    "In prompt texts on the command line (--template, --instruction, --choice, --stop, --yes, "
    "--no),\n"
    "\\n"
    " is a newline, \\t a tab, \\r a carriage return and \\\\ a backslash. Files are used exactly "
    "as\n"
    "they are.\n";

// Puts line end, tab, carriage return and backslash for \n, \t, \r and \\. Another backslash is an
// error that names what stands behind it: \frac must not stay while \times becomes a tab.
CLI::Validator unescaped();
bool is_unescaped(CLI::Option& option);
// The text as the value of such an option: each backslash is doubled.
std::string with_escapes(const std::string& text);
// Refuses an empty text.
CLI::Validator some_text();

// An option that takes the text of a file, exactly as it is. A file that is empty or cannot be read
// is an error.
CLI::Option* add_file_option(
    CLI::App& app, const std::string& name, const std::string& help,
    const std::function<void(std::string text, const std::string& path)>& set);

// --template, of which `help` says what is in it, and --template-file; `set` takes the text of
// either. Returns the first.
CLI::Option* add_template_options(CLI::App& app, const std::string& help,
                                  const std::function<void(std::string)>& set);

}  // namespace pando::cli
