#include "cli/parse_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/nearest.h"

namespace pando::cli {
namespace {

std::string hint(const std::string& name, const std::vector<std::string>& known) {
  return nearest_hint(name, std::vector<std::string_view>(known.begin(), known.end()));
}

// Names of commands and options in other programs, each with Pando's name for the same.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"ask", "run"},
    {"chat", "run"},
    {"complete", "run"},
    {"generate", "run"},
    {"help", "--help"},
    {"version", "--version"},
    {"-v", "--version"},
    {"-i", "--input"},
    {"-f", "--input"},
    {"-p", "--input"},
    {"--file", "--input"},
    {"--prompt", "--input"},
    {"-m", "--model"},
    {"-o", "--output"},
    {"-t", "--threads"},
    {"-n", "--max-tokens"},
    {"--n-predict", "--max-tokens"},
    {"--max-length", "--max-tokens"},
    {"-c", "--context"},
    {"--ctx-size", "--context"},
    {"--max-model-len", "--context"},
    {"--batch-size", "--max-running"},
    {"--max-num-seqs", "--max-running"},
    {"--num-threads", "--threads"},
    {"--dtype", "--weights"},
    {"--quantization", "--weights"},
    {"--kv-cache-dtype", "--kv-dtype"},
    {"--tensor-parallel-size", "--parallel"},
    {"--served-model-name", "--model-name"},
    {"--api-key", "--api-key-file"},
    {"--system", "--instruction"},
    {"--system-prompt", "--instruction"}};

// A hint with the member of `known` that does what `name` does in other programs, or else with the
// nearest name.
std::string hint_of_others(const std::string& name, const std::vector<std::string>& known) {
  for (const auto& [other, own] : kOtherNames)
    if (name == other && std::ranges::find(known, own) != known.end())
      return fmt::format(" (hint: '{}'?)", own);
  return hint(name, known);
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options({}))
    for (const std::string& known : option->get_lnames()) names.push_back("--" + known);
  return names;
}

std::string unknown_option(const CLI::App& command, const std::string& name) {
  const std::string begin = command.get_parent() == nullptr ? "" : command.get_name() + ": ";
  return fmt::format("{}unknown option '{}'{}", begin, name,
                     hint_of_others(name, option_names(command)));
}

// What to expect instead of `text`, which is no value of the option's type. Empty: the option takes
// no number.
std::string expected_number(const CLI::Option& option, const std::string& text) {
  const std::string type = option.get_type_name();
  const bool has_sign = !type.starts_with("UINT");
  if (type.starts_with("FLOAT")) return "a number";
  if (has_sign && !type.starts_with("INT")) return {};
  const bool is_whole = !text.empty() &&
                        text.find_first_not_of("0123456789", text[0] == '-') == std::string::npos &&
                        text != "-";
  if (!is_whole) return "a whole number";
  if (text[0] == '-') return has_sign ? "a number nearer to 0" : "a whole number, 0 or more";
  constexpr size_t kInt64Digits = 19;
  return has_sign && text.size() < kInt64Digits
             ? fmt::format("at most {}", std::numeric_limits<int>::max())
             : "a smaller number";
}

// The message about a value that is not a number, for an option that takes one number; else empty.
// Reads the value again.
std::string wrong_number(CLI::Option& option, const std::string& name, const std::string& value) {
  if (option.get_expected_max() != 1 || expected_number(option, value).empty()) return {};
  try {
    option.clear();
    option.add_result(value);
    option.run_callback();
  } catch (const CLI::ConversionError&) {
    return fmt::format("{} is '{}', expected {}", name, value, expected_number(option, value));
  } catch (const CLI::ParseError&) {  // has a message of its own
  }
  return {};
}

// Whether the parser reads "010" as 8.
bool is_octal(const CLI::Option& option, std::string_view value) {
  const std::string type = option.get_type_name();
  if (value.starts_with('-')) value.remove_prefix(1);
  return (type.starts_with("INT") || type.starts_with("UINT")) && value.size() > 1 &&
         value[0] == '0' && std::isdigit(static_cast<unsigned char>(value[1])) != 0;
}

// Whether an option takes one value and may be given only once.
bool is_given_once(const CLI::Option& option) {
  return option.get_expected_max() == 1 && option.get_expected_min() == 1 &&
         option.get_multi_option_policy() == CLI::MultiOptionPolicy::Throw;
}

// A number below 0 does not.
bool looks_like_option(const std::string& word) {
  return word.starts_with('-') &&
         (word.size() == 1 || std::isdigit(static_cast<unsigned char>(word[1])) == 0);
}

// How many of the words behind an option's name are its values.
size_t n_values(const CLI::Option& option, std::span<const std::string> behind) {
  const int most = option.get_expected_max();
  if (option.get_expected_min() == 0 && !behind.empty() && looks_like_option(behind[0])) return 0;
  if (most <= 1 || !option.get_allow_extra_args())
    return std::min<size_t>(behind.size(), most > 0 ? 1 : 0);
  const auto end = std::ranges::find_if(behind, looks_like_option);
  return static_cast<size_t>(end - behind.begin());
}

// An option that takes a value, and has the name of another option behind it, or nothing.
std::string missing_value(const CLI::App& command, const CLI::Option& option,
                          const std::string& name, std::span<const std::string> behind) {
  const bool is_missing =
      option.get_expected_min() > 0 &&
      (behind.empty() ||
       (behind[0].starts_with("--") &&
        command.get_option_no_throw(behind[0].substr(0, behind[0].find('='))) != nullptr));
  return is_missing
             ? fmt::format("{}: {} needs a value, expected one after it (hint: `pando {} --help`)",
                           command.get_name(), name, command.get_name())
             : "";
}

// A word where the command takes none: most often the input.
std::string stray_word(const CLI::App& command, const std::string& word) {
  const auto options =
      command.get_options([](const CLI::Option* o) { return o->get_positional(); });
  if (!options.empty()) return {};
  const CLI::Option* input = command.get_option_no_throw("--input");
  return fmt::format(
      "{}: unexpected argument '{}', expected an option name before it{}", command.get_name(), word,
      input != nullptr && input->count() == 0 ? fmt::format(" (hint: --input '{}'?)", word) : "");
}

// Nothing where the parser's own message says it.
std::string wrong_words(CLI::App& app, const std::vector<std::string>& arguments) {
  bool has_config = false;
  CLI::App* command = nullptr;
  std::set<const CLI::Option*> given;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--config" || argument.starts_with("--config=")) {
      if (std::exchange(has_config, true)) return "--config is given twice, expected once";
      if (argument == "--config") ++i;
    } else if (command == nullptr && !argument.starts_with('-')) {
      command = find_command(app, argument);
      if (command == nullptr) return unknown_command(app, argument);
    } else if (command == nullptr && app.get_option_no_throw(argument) == nullptr) {
      return unknown_option(app, argument);
    } else if (argument == "--") {
      break;
    } else if (command != nullptr && argument.starts_with("--")) {
      const std::string name = argument.substr(0, argument.find('='));
      CLI::Option* option = command->get_option_no_throw(name);
      if (option == nullptr) option = app.get_option_no_throw(name);
      if (option == nullptr) return unknown_option(*command, name);
      if (is_given_once(*option) && !given.insert(option).second)
        return fmt::format("{}: {} is given twice, expected once", command->get_name(), name);
      const bool has_value = name.size() < argument.size();  // "--name=value"
      const auto behind = std::span(arguments).subspan(i + 1);
      if (!has_value)
        if (std::string text = missing_value(*command, *option, name, behind); !text.empty())
          return text;
      const size_t n_behind = has_value ? 0 : n_values(*option, behind);
      if (has_value || n_behind == 1) {
        const std::string value = has_value ? argument.substr(name.size() + 1) : behind[0];
        if (const std::string text = wrong_number(*option, name, value); !text.empty())
          return fmt::format("{}: {}", command->get_name(), text);
      }
      i += n_behind;
    } else if (command != nullptr && argument.size() > 1 && argument.starts_with('-') &&
               command->get_option_no_throw(argument.substr(0, 2)) == nullptr) {
      return unknown_option(*command, argument.substr(0, argument.find('=')));
    } else if (command != nullptr && !argument.starts_with('-')) {
      if (std::string text = stray_word(*command, argument); !text.empty()) return text;
    }
  }
  return {};
}

}  // namespace

CLI::App* find_command(CLI::App& app, const std::string& name) {
  for (CLI::App* command : app.get_subcommands({}))
    if (command->get_name() == name) return command;
  return nullptr;
}

std::string unknown_command(const CLI::App& app, const std::string& name) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  const std::string expected = fmt::format("{}", fmt::join(names, ", "));
  for (std::string& option : option_names(app)) names.push_back(std::move(option));
  return fmt::format("unknown command '{}', expected one of {}{}", name, expected,
                     hint_of_others(name, names));
}

std::string unknown_name(const CLI::App& section, const std::string& name) {
  std::vector<std::string> names;
  for (const CLI::Option* known : section.get_options({}))
    if (known->get_configurable())
      names.insert(names.end(), known->get_lnames().begin(), known->get_lnames().end());
  if (section.get_parent() == nullptr)
    for (const CLI::App* command : section.get_subcommands({}))
      if (command->get_option_no_throw("--" + name) != nullptr)
        return fmt::format("'{}' is in no section, expected it below one such as [{}]", name,
                           command->get_name());
  return fmt::format("unknown option '{}'{}", name, hint(name, names));
}

bool takes_number(const CLI::Option& option) {
  return !expected_number(option, "").empty() || option.get_type_name() == "[N]";
}

std::string wrong_values(CLI::Option& option, const std::string& name,
                         const std::vector<std::string>& values) {
  if (std::string text = wrong_number(option, "--" + name, values[0]); !text.empty()) return text;
  const bool takes_words = option.get_allow_extra_args();
  option.allow_extra_args(false);  // otherwise the parser removes brackets from a text
  try {
    option.clear();
    for (const std::string& value : values)
      option.add_result(option.get_expected_max() == 0 ? option.get_flag_value(name, value)
                                                       : value);
    option.run_callback();
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  option.allow_extra_args(takes_words);
  return {};
}

std::string misread(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands())
    for (const CLI::Option* option : command->get_options({}))
      for (const std::string& value : option->results())
        if (is_octal(*option, value))
          return fmt::format("{}: {} is '{}', expected a whole number without a leading 0",
                             command->get_name(), option->get_name(), value);
  return {};
}

std::string explain(CLI::App& app, const CLI::ParseError& error,
                    const std::vector<std::string>& arguments) {
  std::string command;
  for (const CLI::App* parsed : app.get_subcommands()) command = parsed->get_name();
  if (std::string text = wrong_words(app, arguments); !text.empty()) return text;
  if (dynamic_cast<const CLI::ConfigError*>(&error) != nullptr) return error.what();
  if (dynamic_cast<const CLI::FileError*>(&error) != nullptr)
    return fmt::format("--config: cannot read '{}', expected a file with options",
                       app.get_config_ptr()->results().back());
  if (command.empty() && arguments.empty())
    return "there is no command (hint: `pando --help` lists the commands)";
  if (command.empty()) return fmt::format("{} (hint: `pando --help`)", error.what());
  const std::string what = error.what();
  if (what.find("(hint: ") != std::string::npos) return fmt::format("{}: {}", command, what);
  return fmt::format("{}: {} (hint: `pando {} --help`)", command, what, command);
}

}  // namespace pando::cli
