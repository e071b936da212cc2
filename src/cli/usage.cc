#include "cli/usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/nearest.h"

namespace pando::cli {
namespace {

std::string nearest(const std::string& name, const std::vector<std::string>& known) {
  return nearest_hint(name, std::vector<std::string_view>(known.begin(), known.end()));
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

// Empty: the option takes no number.
std::string_view number_type(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  for (const std::string_view number : {"INT", "UINT", "FLOAT"})
    if (type.starts_with(number)) return number;
  return {};
}

template <class T>
bool is_read(const std::string& text) {
  T value{};
  return CLI::detail::lexical_cast(text, value);
}

std::string check_number(std::string_view type, const std::string& text) {
  if (type == "FLOAT") return is_read<double>(text) ? "" : text + ", expected a number";
  const size_t first = text.starts_with('-') ? 1 : 0;
  if (text.size() > first + 1 && text[first] == '0' &&
      std::isdigit(static_cast<unsigned char>(text[first + 1])) != 0)
    return text + ", expected a whole number without a leading 0";
  if (type == "INT" ? is_read<int>(text) : is_read<uint64_t>(text)) return {};
  return fmt::format("{}, expected a whole number {}", text,
                     type == "INT" ? "of at most 2147483647" : "from 0 to 2^64 - 1");
}

bool takes_input(const CLI::App& command) {
  return command.get_option_no_throw("--input") != nullptr;
}

// An argument that belongs to no option.
std::string left_over(const CLI::App& app, const CLI::App* command, const std::string& argument) {
  const bool is_option = argument.starts_with('-');
  if (command == nullptr && !is_option) return unknown_command(app, argument);
  if (!is_option)
    return fmt::format("unexpected argument '{}', expected an option{}", argument,
                       takes_input(*command) ? " such as --input " + argument : "");
  return unknown_option(command == nullptr ? app : *command,
                        argument.substr(0, argument.find('=')));
}

}  // namespace

CLI::App* find_command(CLI::App& app, const std::string& name) {
  for (CLI::App* command : app.get_subcommands({}))
    if (command->get_name() == name) return command;
  return nullptr;
}

std::string unknown_command(const CLI::App& app, const std::string& name) {
  const std::vector<std::string> names = command_names(app);
  return fmt::format("unknown command '{}', expected one of {}{}", name, fmt::join(names, ", "),
                     nearest(name, names));
}

std::string unknown_option(const CLI::App& command, const std::string& name) {
  const std::string dashes = name.starts_with('-') ? "--" : "";  // none in a file
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options({}))
    if (!dashes.empty() || option->get_configurable())
      for (const std::string& known : option->get_lnames()) names.push_back(dashes + known);
  return fmt::format("unknown option '{}'{}", name, nearest(name, names));
}

bool takes_number(const CLI::Option& option) {
  return !number_type(option).empty() || option.get_type_name() == "[N]";
}

void check_numbers(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands({}))
    for (CLI::Option* option : command->get_options({}))
      if (const std::string_view type = number_type(*option); !type.empty())
        option->check(CLI::Validator(
            [type](const std::string& text) { return check_number(type, text); }, "", ""));
}

std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::ConfigError*>(&error) != nullptr) return error.what();
  if (dynamic_cast<const CLI::FileError*>(&error) != nullptr)
    return fmt::format("--config: cannot read '{}', expected a file with options",
                       app.get_config_ptr()->results().back());
  const std::vector<CLI::App*> parsed = app.get_subcommands();
  const CLI::App* const command = parsed.empty() ? nullptr : parsed.front();
  const bool is_required = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const std::vector<std::string> rest = app.remaining(/*recurse=*/true);
  std::string text = error.what();
  // A misspelt option may be the one that is required.
  if (!rest.empty() && (is_required || dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr))
    text = left_over(app, command, rest.front());
  else if (command == nullptr && is_required)
    text = fmt::format("no command, expected one of {}", fmt::join(command_names(app), ", "));
  return command == nullptr ? text : fmt::format("{}: {}", command->get_name(), text);
}

}  // namespace pando::cli
