#include "cli/options_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "base/byte_order_mark.h"
#include "base/errors.h"
#include "cli/exit_code.h"
#include "cli/prompt_text.h"
#include "cli/usage.h"

namespace pando::cli {
namespace {

bool is_flag(const CLI::Option& option) { return option.get_expected_max() == 0; }
bool is_list(const CLI::Option& option) { return option.get_expected_max() > 1; }

// The node as a message shows it.
std::string found(const toml::node& node) {
  if (node.is_table()) return "a table";
  if (node.is_array()) return "a list";
  if (node.is_date() || node.is_time() || node.is_date_time()) return "a date or time";
  if (const auto* text = node.as_string()) return fmt::format("'{}'", text->get());
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  return node.as_boolean()->get() ? "true" : "false";
}

// The number as on the command line, where 5.0 is not a whole number either.
std::string number_text(double value) {
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

// A value of the option as on the command line; nothing if its type does not fit.
std::optional<std::string> value_of(CLI::Option& option, const toml::node& node) {
  if (const auto* flag = node.as_boolean(); flag && option.get_expected_min() == 0)
    return flag->get() ? "true" : "false";
  if (is_flag(option)) return std::nullopt;
  if (const auto* number = node.as_integer(); number && takes_number(option))
    return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point(); number && takes_number(option))
    return number_text(number->get());
  const auto* text = node.as_string();
  if (text == nullptr) return std::nullopt;
  return is_unescaped(option) ? with_escapes(text->get()) : text->get();
}

// Gives the option these values, at least one. Returns the message if they are wrong.
std::string wrong_values(CLI::Option& option, const std::string& name,
                         const std::vector<std::string>& values) {
  const bool takes_words = option.get_allow_extra_args();
  option.allow_extra_args(false);  // otherwise the parser removes brackets from a text
  try {
    option.clear();
    for (const std::string& value : values)
      option.add_result(is_flag(option) ? option.get_flag_value(name, value) : value);
    option.run_callback();
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  option.allow_extra_args(takes_words);
  return {};
}

// Throws errors that name a line.
class Lines {
 public:
  explicit Lines(std::string path) : path_(std::move(path)) {}

  [[noreturn]] void refuse(const toml::source_region& at, const std::string& message) const {
    throw CLI::ConfigError(
        fmt::format("'{}', line {}: {}", path_, at.begin.line, one_line(message)));
  }
  [[noreturn]] void refuse(const toml::node& at, const std::string& message) const {
    refuse(at.source(), message);
  }

 private:
  std::string path_;
};

class Section {
 public:
  Section(CLI::App& command, const Lines& lines) : command_(command), lines_(lines) {}

  void take(const std::string& name, const toml::node& node) const {
    CLI::Option* option = command_.get_option_no_throw("--" + name);
    if (option == nullptr) option = command_.get_option_no_throw(name);  // has no dashes
    if (option == nullptr || !option->get_configurable())
      lines_.refuse(node, unknown_option(command_, name));
    const std::vector<std::string> values = values_of(*option, name, node);
    if (!option->empty()) return;  // the command line gave it
    if (option->get_expected_min() == 0 && !is_flag(*option) && node.is_boolean()) {
      if (values[0] == "true")
        option->add_result(option->get_flag_value(name, ""));
      else if (!wrong_values(*option, name, values).empty())
        option->clear();  // it cannot be switched off, so it is not given
      return;
    }
    if (const std::string wrong = wrong_values(*option, name, values); !wrong.empty())
      lines_.refuse(node, wrong);
  }

 private:
  std::vector<std::string> values_of(CLI::Option& option, const std::string& name,
                                     const toml::node& node) const {
    const toml::array* const list = is_list(option) ? node.as_array() : nullptr;
    if (list != nullptr && list->empty())
      lines_.refuse(node, fmt::format("--{} is an empty list, expected a value", name));
    std::vector<std::string> values;
    const auto add = [&](const toml::node& one) {
      std::optional<std::string> value = value_of(option, one);
      if (!value)
        lines_.refuse(one, fmt::format("--{} is {}, expected {}", name, found(one),
                                       is_flag(option)        ? "true or false"
                                       : takes_number(option) ? "a number"
                                                              : "a text in quotes"));
      values.push_back(std::move(*value));
    };
    if (list == nullptr)
      add(node);
    else
      for (const toml::node& one : *list) add(one);
    return values;
  }

  CLI::App& command_;
  const Lines& lines_;
};

toml::table parse_tables(std::string_view bytes, const std::string& path, const Lines& lines) {
  const Result<std::string_view> text = without_mark(bytes);
  if (!text) throw CLI::ConfigError(fmt::format("'{}' is {}", path, message_of(text.error())));
  try {
    return toml::parse(*text);
  } catch (const toml::parse_error& error) {
    std::string_view what = error.description();
    constexpr std::string_view kBegin = "Error while parsing ";
    if (what.starts_with(kBegin)) what.remove_prefix(kBegin.size());
    lines.refuse(error.source(), std::string(what));
  }
}

const toml::table& as_section(const toml::node& node, std::string_view name, const Lines& lines) {
  const toml::table* const options = node.as_table();
  if (options == nullptr)
    lines.refuse(node, fmt::format("'{}' is {}, expected a section", name, found(node)));
  return *options;
}

}  // namespace

std::vector<CLI::ConfigItem> OptionsFile::from_config(std::istream& file) const {
  const std::string path = app_.get_config_ptr()->results().back();
  const Lines lines(path);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  const toml::table tables = parse_tables(bytes, path, lines);
  for (const auto& [key, node] : tables) {
    const std::string name(key.str());
    CLI::App* const command = find_command(app_, name);
    const toml::table& options = as_section(node, name, lines);
    if (command == nullptr) lines.refuse(node, unknown_command(app_, name));
    for (const auto& [option, value] : options)
      Section(*command, lines).take(std::string(option.str()), value);
  }
  return {};
}

void read_tables(const std::string& path, std::string_view text, const std::string& section,
                 const std::function<void(const std::string& name, const TakeOptions&)>& on_table) {
  const Lines lines(path);
  const toml::table tables = parse_tables(text, path, lines);
  std::vector<std::pair<std::string, const toml::table*>> found_tables;
  for (const auto& [key, node] : tables) {
    if (key.str() != section)
      lines.refuse(node, fmt::format("'{0}' is no part of this file, expected [{1}.NAME]",
                                     key.str(), section));
    for (const auto& [name, one] : as_section(node, section, lines))
      found_tables.emplace_back(name.str(), &as_section(one, name.str(), lines));
  }
  std::ranges::sort(found_tables, {}, [](const auto& table) {
    return table.second->source().begin.line;
  });
  for (const auto& [name, options] : found_tables) {
    on_table(name, [&lines, &table = *options](CLI::App& command) {
      for (const auto& [option, value] : table)
        Section(command, lines).take(std::string(option.str()), value);
      for (const CLI::Option* option : command.get_options())
        if (option->get_required() && option->empty())
          lines.refuse(table, fmt::format("the table has no '{}'", option->get_lnames().front()));
    });
  }
}

}  // namespace pando::cli
