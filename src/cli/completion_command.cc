// `pando completion`: what a shell needs to complete commands and options.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/model_options.h"

namespace pando::cli {
namespace {

// Long names of a command's options, with a space before each.
std::string options_of(const CLI::App& app) {
  std::string names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names += fmt::format(" --{}", name);
  return names;
}

// Lists what an option can be, where that is a closed set; with spaces between.
std::string values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();  // "TEXT:{a,b}"
  const size_t begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return {};
  std::string values = type.substr(begin + 1, end - begin - 1);
  std::replace(values.begin(), values.end(), ',', ' ');
  return values;
}

// The word that an option's value stands behind.
std::string word_before(const CLI::App& command, const CLI::Option& option) {
  return option.get_lnames().empty() ? command.get_name() : "--" + option.get_lnames()[0];
}

std::string bash(const CLI::App& app) {
  std::string commands, cases, values;
  for (const CLI::App* command : app.get_subcommands({})) {
    commands += fmt::format(" {}", command->get_name());
    cases += fmt::format("    {}) words=\"{}\" ;;\n", command->get_name(),
                         options_of(*command).substr(1));
    for (const CLI::Option* option : command->get_options())
      if (const std::string of_option = values_of(*option); !of_option.empty())
        values += fmt::format("    {}:{}) words=\"{}\" ;;\n", command->get_name(),
                              word_before(*command, *option), of_option);
  }
  return fmt::format(
      "_pando() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} words\n"
      "  case ${{COMP_WORDS[1]}} in\n{}"
      "    *) words=\"{}{}\" ;;\n"
      "  esac\n"
      "  local names=$words\n"
      "  case ${{COMP_WORDS[1]}}:${{COMP_WORDS[COMP_CWORD-1]}} in\n{}"
      "  esac\n"
      "  COMPREPLY=()\n"
      "  [[ $COMP_CWORD -gt 1 && $word != -* && $words == \"$names\" ]] || COMPREPLY=($(compgen -W "
      "\"$words\" -- "
      "\"$word\"))\n"
      "}}\n"
      "complete -o default -F _pando pando\n",
      cases, commands.substr(1), options_of(app), values);
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// The text in single quotes, with a backslash before each of `special`; `quote` is one of them in
// it.
std::string in_quotes(const std::string& text, const std::string& special, const char* quote) {
  std::string all(1, '\'');
  for (const char c : text) {
    if (special.find(c) != std::string::npos) all += '\\';
    all += c == '\'' ? quote : std::string(1, c);
  }
  return all += '\'';
}
std::string fish_quoted(const std::string& text) { return in_quotes(text, "\\", "\\'"); }
std::string zsh_quoted(const std::string& text) { return in_quotes(text, "\\[]:", "'\\''"); }

std::string fish_values(const CLI::Option& option) {
  const std::string values = values_of(option);
  if (!values.empty()) return " -x -a " + fish_quoted(values);
  return takes_value(option) ? " -r" : "";
}

std::string fish(const CLI::App& app) {
  std::string text;
  for (const CLI::App* command : app.get_subcommands({})) {
    const std::string& name = command->get_name();
    text += fmt::format("complete -c pando -n __fish_use_subcommand -f -a {} -d {}\n", name,
                        fish_quoted(command->get_description()));
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_positional() && !values_of(*option).empty())
        text += fmt::format("complete -c pando -n '__fish_seen_subcommand_from {}' -f -a {}\n",
                            name, fish_quoted(values_of(*option)));
      for (const std::string& of_option : option->get_lnames())
        text += fmt::format("complete -c pando -n '__fish_seen_subcommand_from {}' -l {} -d {}{}\n",
                            name, of_option, fish_quoted(option->get_description()),
                            fish_values(*option));
    }
  }
  return text;
}

// The action of zsh's _arguments: a closed set, or files.
std::string zsh_action(const CLI::Option& option) {
  const std::string values = values_of(option);
  return values.empty() ? "_files" : fmt::format("({})", values);
}

// Writes what zsh's _arguments takes for the options of a command.
std::string zsh_arguments(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      // The star: an option may come several times.
      std::string line = zsh_quoted(fmt::format("*--{}", name));
      line.back() = '[';
      const std::string help = zsh_quoted(option->get_description());
      line += help.substr(1, help.size() - 2) + "]";
      if (takes_value(*option)) line += fmt::format(":{}:{}", name, zsh_action(*option));
      text += fmt::format(" \\\n        {}'", line);
    }
    if (option->get_positional())
      text += fmt::format(" \\\n        '*:file:{}'", zsh_action(*option));
  }
  return text;
}

std::string zsh(const CLI::App& app) {
  std::string commands, cases;
  for (const CLI::App* command : app.get_subcommands({})) {
    std::string described = zsh_quoted(command->get_description());
    described.insert(1, command->get_name() + ":");
    commands += fmt::format("    {}\n", described);
    cases += fmt::format("      {})\n      _arguments{} ;;\n", command->get_name(),
                         zsh_arguments(*command));
  }
  return fmt::format(
      "#compdef pando\n"
      "_pando() {{\n"
      "  local state line\n"
      "  local -a commands=(\n{}  )\n"
      "  _arguments -C{} \\\n        '1: :->command' '*:: :->arguments'\n"
      "  case $state in\n"
      "    command) _describe command commands ;;\n"
      "    arguments) case $line[1] in\n{}    esac ;;\n"
      "  esac\n"
      "}}\n"
      "if [ \"$funcstack[1]\" = _pando ]; then _pando \"$@\"; else compdef _pando pando; fi\n",
      commands, zsh_arguments(app), cases);
}

}  // namespace

Command add_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  app.add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(one_of({"bash", "zsh", "fish"}));
  app.footer(
      "Examples:\n  source <(pando completion bash)\n"
      "  pando completion fish > ~/.config/fish/completions/pando.fish");
  return [shell, &app] {
    const CLI::App& pando = *app.get_parent();
    fmt::print("{}", *shell == "fish" ? fish(pando) : *shell == "zsh" ? zsh(pando) : bash(pando));
    return kOk;
  };
}

}  // namespace pando::cli
