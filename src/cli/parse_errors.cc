#include "cli/parse_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <span>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/nearest.h"

namespace pando::cli {
namespace {

CLI::App* find_command(CLI::App& app, const std::string& name) {
  for (CLI::App* command : app.get_subcommands({}))
    if (command->get_name() == name) return command;
  return nullptr;
}

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

std::string unknown_command(const CLI::App& app, const std::string& name) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  const std::string expected = fmt::format("{}", fmt::join(names, ", "));
  for (std::string& option : option_names(app)) names.push_back(std::move(option));
  return fmt::format("unknown command '{}', expected one of {}{}", name, expected,
                     hint_of_others(name, names));
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

// The options that the lines of a file have given.
class GivenOptions {
 public:
  // What is wrong with another line for `option`. Lines for a list may follow each other.
  std::string add(const CLI::Option& option, const std::string& name) {
    const bool is_list = option.get_expected_max() > 1;
    const bool goes_on = is_list && &option == last_;
    last_ = &option;
    if (given_.insert(&option).second || goes_on) return {};
    return is_list ? fmt::format(
                         "'{0}' is given twice, expected once, or on lines that follow "
                         "each other (hint: one list, such as {0} = [\"A\", \"B\"])",
                         name)
                   : fmt::format("'{}' is given twice, expected once", name);
  }

  void begin_section() { last_ = nullptr; }

 private:
  std::set<const CLI::Option*> given_;
  const CLI::Option* last_ = nullptr;
};

// The command that a line such as "run.threads = 1" names itself, or else that of its section;
// null if there is none.
CLI::App* command_of(CLI::App& section, const CLI::ConfigItem& item) {
  CLI::App* command = &section;
  for (const std::string& name : item.parents)
    if (command != nullptr) command = find_command(*command, name);
  return command;
}

std::string unknown_item(const CLI::App& command, const CLI::ConfigItem& item,
                         const std::string& line) {
  if (line.find('=') == std::string::npos)
    return fmt::format("found '{}', expected a section such as [run], or name = value", line);
  std::vector<std::string> names;
  for (const CLI::Option* known : command.get_options({}))
    names.insert(names.end(), known->get_lnames().begin(), known->get_lnames().end());
  if (command.get_parent() == nullptr)
    for (const CLI::App* section : command.get_subcommands({}))
      if (section->get_option_no_throw("--" + item.name) != nullptr)
        return fmt::format("'{}' is in no section, expected it below one such as [{}]", item.name,
                           section->get_name());
  return fmt::format("unknown option '{}'{}", item.name, hint(item.name, names));
}

// What is wrong with the value of a line. Reads the value again.
std::string wrong_value(CLI::Option& option, const CLI::ConfigItem& item) {
  if (item.inputs.size() == 1)
    if (std::string text = wrong_number(option, "--" + item.name, item.inputs[0]); !text.empty())
      return text;
  if (item.inputs.size() > 1 && option.get_items_expected_max() == 1)
    return fmt::format("--{} has {} values, expected one", item.name, item.inputs.size());
  const bool is_flag = option.get_expected_max() == 0;
  try {
    option.clear();
    for (const std::string& value : item.inputs)
      option.add_result(is_flag ? option.get_flag_value(item.name, value) : value);
    option.run_callback();
  } catch (const CLI::ConversionError& error) {
    if (!is_flag) return error.what();
    return fmt::format("--{} is '{}', expected true or false", item.name, item.inputs[0]);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return {};
}

// What is wrong with one line `name = value` of a section: that its option was given before, and
// unless the parser took the line, what else there is. Then its value is read again.
std::string wrong_item(CLI::App& section, const std::string& line, GivenOptions& given,
                       bool was_taken) {
  std::istringstream text(line);
  for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_config(text)) {
    CLI::App* command = command_of(section, item);
    CLI::Option* option =
        command == nullptr ? nullptr : command->get_option_no_throw("--" + item.name);
    if (option == nullptr && was_taken) continue;
    if (command == nullptr && section.get_parent() != nullptr)
      return fmt::format("found '{0}.{1}', expected an option of {2} (hint: '{1}'?)",
                         fmt::join(item.parents, "."), item.name, section.get_name());
    if (command == nullptr) return unknown_command(section, item.parents[0]);
    if (option == nullptr) return unknown_item(*command, item, line);
    if (std::string wrong = given.add(*option, item.name); !wrong.empty()) return wrong;
    if (was_taken) continue;
    if (std::string wrong = wrong_value(*option, item); !wrong.empty()) return wrong;
  }
  return {};
}

// What CLI11 would read in another way than it is written, or lose, in the text of a value.
// `goes_on`: the text is a further line of a list, which cannot have a comment.
std::string wrong_text(std::string_view text, bool is_list, bool goes_on) {
  char quote = 0;
  bool may_open = true, has_ended = false, is_empty = true;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '#')
        return "found '#' inside a string, which a file of options cannot hold (hint: give the "
               "option on the command line)";
      if (c == '\\' && i + 1 < text.size() && text[i + 1] == quote) {
        if (quote != '"')
          return fmt::format(
              "found \\{} inside a string, which a file of options cannot hold (hint: put the text "
              "in double quotes)",
              quote);
        ++i;  // a quote of the text
        continue;
      }
      if (c == quote) quote = 0, may_open = !is_list;
      continue;
    }
    if (c == '#' && goes_on)
      return "found a comment inside a list, expected it on the list's first line or before it";
    if (c == '#') break;
    if (std::isspace(static_cast<unsigned char>(c)) != 0) continue;
    if (has_ended)
      return fmt::format("found '{}' behind a list, expected the end of the line", text.substr(i));
    is_empty = false;
    if (may_open && (c == '"' || c == '\'' || c == '`')) {
      quote = c;
    } else if (is_list && (c == '[' || c == ',')) {
      may_open = true;
    } else {
      has_ended = is_list && c == ']';
      may_open = false;
    }
  }
  if (quote != 0)
    return fmt::format("a string begins with {0} and does not end, expected {0} behind it", quote);
  return is_empty ? "there is no value behind '=', expected one" : "";
}

// The same of a whole line.
std::string wrong_text(const std::string& line) {
  const size_t equals = line.find('=');
  if (equals == std::string::npos) return {};
  const std::string value = CLI::detail::trim_copy(line.substr(equals + 1));
  return wrong_text(value, value.starts_with('['), /*goes_on=*/false);
}

// Reads the rest of a list that begins in `line` and goes on, as CLI11 does; how many lines that
// is. `wrong`: wrong_text of these.
int read_list(std::istream& file, std::string& line, std::string& wrong) {
  const size_t equals = line.find('=');
  if (equals == std::string::npos) return 0;
  const std::string value =
      CLI::detail::trim_copy(line.substr(equals + 1, line.find('#', equals) - equals - 1));
  if (!value.starts_with('[')) return 0;
  line = line.substr(0, equals + 1) + value;
  int n_more = 0;
  if (value.size() > 1)
    for (std::string more; line.back() != ']' && std::getline(file, more); ++n_more) {
      line += CLI::detail::trim(more);
      if (wrong.empty() && !more.empty())
        wrong = wrong_text(more, /*is_list=*/true, /*goes_on=*/true);
    }
  return n_more;
}

// The first line of a file of options that is wrong, and why. `was_taken`: by the parser.
std::string wrong_line(CLI::App& app, const std::string& path, bool was_taken) {
  std::ifstream file(path);
  if (!file) return fmt::format("--config: cannot read '{}', expected a file with options", path);
  CLI::App* command = &app;
  GivenOptions given;
  int number = 0, n_more = 0;
  for (std::string line; std::getline(file, line);) {
    number += 1 + std::exchange(n_more, 0);
    CLI::detail::trim(line);
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    std::string wrong;
    if (line[0] == '[') {
      const std::string name = line.substr(1, line.find(']') - 1);
      given.begin_section();
      command = find_command(app, name);
      if (command == nullptr && !was_taken) wrong = unknown_command(app, name);
      if (!line.ends_with(']') && line.find(']') != std::string::npos)
        wrong = fmt::format("found '{}' behind a section, expected the end of the line",
                            CLI::detail::trim_copy(line.substr(line.find(']') + 1)));
    } else if (command != nullptr) {
      wrong = wrong_text(line);
      if (wrong.empty()) n_more = read_list(file, line, wrong);
      if (!wrong.empty()) return fmt::format("'{}', line {}: {}", path, number, wrong);
      wrong = line.ends_with("=[") && !was_taken
                  ? "a list starts without a value, expected its first value on the same line"
                  : wrong_item(*command, line, given, was_taken);
    }
    if (!wrong.empty()) return fmt::format("'{}', line {}: {}", path, number, wrong);
  }
  return {};
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
  std::string config;
  CLI::App* command = nullptr;
  std::set<const CLI::Option*> given;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--config" || argument.starts_with("--config=")) {
      if (!config.empty()) return "--config is given twice, expected once";
      if (argument != "--config")
        config = argument.substr(argument.find('=') + 1);
      else if (++i < arguments.size())
        config = arguments[i];
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
  return config.empty() ? "" : wrong_line(app, config, /*was_taken=*/false);
}

}  // namespace

std::string misread(CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands())
    for (const CLI::Option* option : command->get_options({}))
      for (const std::string& value : option->results())
        if (is_octal(*option, value))
          return fmt::format("{}: {} is '{}', expected a whole number without a leading 0",
                             command->get_name(), option->get_name(), value);
  const CLI::Option* config = app.get_config_ptr();
  if (config == nullptr || config->count() == 0) return {};
  // A pipe cannot be read twice: to open one again may wait forever.
  const std::string path = config->results().back();
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) return {};
  return wrong_line(app, path, /*was_taken=*/true);
}

std::string explain(CLI::App& app, const CLI::ParseError& error,
                    const std::vector<std::string>& arguments) {
  std::string command;
  for (const CLI::App* parsed : app.get_subcommands()) command = parsed->get_name();
  if (std::string text = wrong_words(app, arguments); !text.empty()) return text;
  if (command.empty() && arguments.empty())
    return "there is no command (hint: `pando --help` lists the commands)";
  if (command.empty()) return fmt::format("{} (hint: `pando --help`)", error.what());
  const std::string what = error.what();
  if (what.find("(hint: ") != std::string::npos) return fmt::format("{}: {}", command, what);
  return fmt::format("{}: {} (hint: `pando {} --help`)", command, what, command);
}

}  // namespace pando::cli
